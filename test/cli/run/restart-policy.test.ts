import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { codeOfEnd, judgeWorkerEnd, restartDelay } from '../../../src/cli/run/restart-policy.ts'

test('Crashes restart a worker; a failed service or wrong usage stops all; a stop from outside is let be', () => {
  const judge = (code: number | null, wasReady = true): string =>
    judgeWorkerEnd({ code, signal: code === null ? 'SIGKILL' : null, wasReady })
  assert.deepEqual(
    [null, 6, 7, 134].map((code) => judge(code)),
    ['restart', 'restart', 'restart', 'restart'],
  )
  assert.deepEqual(
    [1, 2].map((code) => judge(code)),
    ['stop-all', 'stop-all'],
  )
  assert.deepEqual(
    [0, 3, 4].map((code) => judge(code)),
    ['let-be', 'let-be', 'let-be'],
  )
})

test('An unreachable broker stops all at the start, and is waited for later', () => {
  assert.equal(judgeWorkerEnd({ code: 5, signal: null, wasReady: false }), 'stop-all')
  assert.equal(judgeWorkerEnd({ code: 5, signal: null, wasReady: true }), 'restart')
})

test('A worker that was ended before it listened to signals had begun nothing', () => {
  assert.equal(codeOfEnd({ code: null, signal: 'SIGTERM', wasReady: false }), 0)
  assert.equal(codeOfEnd({ code: null, signal: 'SIGTERM', wasReady: true }), 6)
  assert.equal(codeOfEnd({ code: null, signal: 'SIGKILL', wasReady: false }), 6)
})

test('The delay doubles up to 30 s, with jitter of one half', () => {
  assert.deepEqual(
    [1, 2, 3, 4].map((crashes) => restartDelay(crashes, 1)),
    [500, 1_000, 2_000, 4_000],
  )
  assert.equal(restartDelay(1, 0), 250)
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (crashes, random) => {
        const delay = restartDelay(crashes, random)
        assert.ok(delay >= 250 && delay <= 30_000)
      },
    ),
  )
})
