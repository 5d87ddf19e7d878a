import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NonRetryableError, PolluxError, RetryableError } from '../../../src/index.ts'
import { classify } from '../../../src/patterns/delegate/classify.ts'

const kindOf = (error: unknown): string => classify(error).kind

test('HTTP statuses are told apart: what the message is to blame for, what passes, what is too much', () => {
  const known: Readonly<Record<string, readonly number[]>> = {
    permanent: [400, 403, 404, 405, 409, 410, 413, 415, 422, 304, 501, 505],
    transient: [401, 407, 408, 425, 500, 502, 503, 504, 599],
    overload: [429],
  }
  for (const [kind, statuses] of Object.entries(known)) {
    for (const status of statuses) {
      assert.equal(kindOf({ status }), kind, `${status}`)
      assert.equal(kindOf({ statusCode: status }), kind, `${status}`)
      assert.equal(kindOf({ response: { status } }), kind, `${status}`)
      assert.equal(kindOf(new Error('call', { cause: { status } })), kind, `${status}`)
    }
  }
})

test('a service that is unavailable and says until when is overloaded', () => {
  assert.deepEqual(classify({ status: 503, after: 2_000 }), { kind: 'overload', after: 2_000 })
  assert.deepEqual(classify({ status: 429, after: 2_000 }), { kind: 'overload', after: 2_000 })
  assert.deepEqual(classify({ status: 500, after: 2_000 }), { kind: 'transient', after: 2_000 })
})

test('gRPC’s codes are told apart, and are not mixed up with those of DOMException', () => {
  const permanent = [3, 5, 6, 7, 9, 11, 12, 15]
  for (let code = 0; code <= 16; code += 1) {
    const kind = code === 8 ? 'overload' : permanent.includes(code) ? 'permanent' : 'transient'
    assert.equal(kindOf(Object.assign(new Error('grpc'), { code })), kind, `${code}`)
  }
  const syntax = new DOMException('x', 'SyntaxError')
  assert.equal(syntax.code, 12)
  assert.equal(kindOf(syntax), 'transient')
})

test('SQLSTATEs: bad data and violated constraints are permanent, too many connections are overload', () => {
  const known = {
    '22P02': 'permanent',
    '23505': 'permanent',
    '53300': 'overload',
    '57P01': 'transient',
    '40001': 'transient',
    '08006': 'transient',
  }
  for (const [code, kind] of Object.entries(known)) assert.equal(kindOf({ code }), kind, code)
})

test('errors of the network, time limits and what nobody knows are transient', () => {
  const refused = new TypeError('fetch failed', {
    cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
  })
  const late = new PolluxError('POLLUX_CALL_TIMEOUT', 'late')
  for (const error of [
    refused,
    late,
    new DOMException('late', 'TimeoutError'),
    { code: 'EPIPE' },
    'text',
    null,
  ])
    assert.deepEqual(classify(error), { kind: 'transient' })
  const circle: { cause?: unknown } = {}
  circle.cause = circle
  assert.equal(kindOf(circle), 'transient')
})

test('what Pollux refuses, and what a call says itself, is taken at its word', () => {
  assert.equal(kindOf(new NonRetryableError('never')), 'permanent')
  assert.equal(kindOf(new PolluxError('POLLUX_DECODE_FAILED', 'no JSON')), 'permanent')
  assert.deepEqual(classify(new RetryableError('later', { after: '2s' })), {
    kind: 'transient',
    after: 2_000,
  })
})
