import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import {
  type ExitName,
  exitCodeOf,
  exitCodes,
  exitMeanings,
  worstExitCode,
} from '../../src/cli/exit-codes.ts'
import { PolluxError } from '../../src/errors.ts'

test('The exit code follows from the error’s code, and an error nobody foresaw is a crash', () => {
  assert.equal(exitCodeOf(new PolluxError('POLLUX_OPTION_INVALID', 'x')), 2)
  assert.equal(exitCodeOf(new PolluxError('POLLUX_MODULE_INVALID', 'x')), 2)
  assert.equal(exitCodeOf(new PolluxError('POLLUX_BROKER_UNREACHABLE', 'x')), 5)
  assert.equal(exitCodeOf(new PolluxError('POLLUX_STOP_TIMEOUT', 'x')), 4)
  assert.equal(exitCodeOf(new PolluxError('POLLUX_HANDLER_FAILED', 'x')), 1)
  assert.equal(exitCodeOf(new TypeError('x')), 6)
})

test('The worst of several exit codes is what needs a person most, and an unknown one is a crash', () => {
  assert.equal(worstExitCode([]), 0)
  assert.equal(worstExitCode([0, 3, 0]), 3)
  assert.equal(worstExitCode([4, 3]), 4)
  assert.equal(worstExitCode([6, 1, 4]), 1)
  assert.equal(worstExitCode([0, 139]), 6)
})

test('docs/cli.md lists exactly the exit codes there are, with their meanings', async () => {
  const page = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (\d+) \| (.+) \|$/gm)].map(([, code, meaning]) => [
    Number(code),
    meaning,
  ])
  const expected = (Object.keys(exitCodes) as ExitName[]).map((name) => [
    exitCodes[name],
    exitMeanings[name],
  ])
  assert.deepEqual(rows, expected)
})
