import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { errorBlock } from '../../src/cli/error-block.ts'
import { createLogger, type LoggerOptions } from '../../src/cli/logger.ts'
import { rememberSecret } from '../../src/cli/secrets.ts'
import { PolluxError } from '../../src/errors.ts'

function logged(options: Partial<LoggerOptions>, fields: object, message: string): string {
  let written = ''
  createLogger({
    level: 'info',
    pretty: false,
    write: (line) => (written += line),
    ...options,
  }).warn(fields, message)
  return written
}

test('A log line is one JSON object with level, time, fields and message', () => {
  const { time, ...rest } = JSON.parse(
    logged({ worker: '2/3' }, { topic: 't' }, 'Slow.'),
  ) as Record<string, unknown>
  assert.deepEqual(rest, { level: 'warn', worker: '2/3', topic: 't', message: 'Slow.' })
  assert.match(String(time), /^\d{4}-\d\d-\d\dT.*Z$/)
})

test('On a terminal it is one readable line that cannot steer the terminal', () => {
  const line = stripVTControlCharacters(
    logged({ pretty: true }, { topic: 't', why: 'a b', n: 3 }, 'Slow\n\u009b31m.'),
  )
  assert.match(
    line,
    /^\d\d:\d\d:\d\d\.\d{3} warn {2}Slow\\u000a\\u009b31m\. {2}topic=t why="a b" n=3\n$/,
  )
})

test('Less severe lines than asked for are left out', () => {
  assert.equal(logged({ level: 'error' }, {}, 'x'), '')
  assert.equal(logged({ level: 'silent' }, {}, 'x'), '')
})

test('case 72: a known secret is in no log line and no error block, not even with the stack', () => {
  rememberSecret('open-sesame')
  const error = new Error('login failed for u:open-sesame', { cause: new Error('open-sesame') })
  assert.doesNotMatch(logged({}, { error, password: 'open-sesame' }, 'open-sesame'), /sesame/)
  assert.doesNotMatch(errorBlock(error, { environment: { POLLUX_DEBUG: '1' } }), /sesame/)
  const own = new PolluxError('POLLUX_BROKER_REFUSED', 'open-sesame', { hint: 'open-sesame' })
  assert.doesNotMatch(errorBlock(own, { environment: {} }), /sesame/)
})

test('An error block says what is wrong, what to do and the code, and has no stack unless asked for', () => {
  const error = new PolluxError('POLLUX_TOPIC_UNKNOWN', 'There is no topic.', {
    expected: 'one',
    hint: 'Make it.',
  })
  const block = stripVTControlCharacters(errorBlock(error, { environment: {} }))
  assert.equal(
    block,
    'error: There is no topic. Expected one.\n  hint: Make it.\n  code: POLLUX_TOPIC_UNKNOWN\n',
  )
  assert.match(errorBlock(error, { environment: { POLLUX_DEBUG: '1' } }), /logger\.test\.ts/)
})
