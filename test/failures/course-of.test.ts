import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PolluxError } from '../../src/errors.ts'
import type { Course } from '../../src/failures/course.ts'
import { courseOf } from '../../src/failures/course-of.ts'
import { NonRetryableError, RetryableError } from '../../src/index.ts'

const error = (fields: object, message = 'text'): Error => Object.assign(new Error(message), fields)

/** An error whose class has this name, as libraries that are not loaded here have theirs. */
function named(name: string): Error {
  const { [name]: Named } = { [name]: class extends Error {} }
  if (Named === undefined) throw new Error('no class')
  return new Named()
}

// As the drivers give them: pg 8.23, PGlite 0.5, mysql2 3.24, @redis/client 6, AWS SDK 3, librdkafka 2, kafkajs 2, undici.
const table: readonly (readonly [Course, string, unknown])[] = [
  ['wait', 'PostgreSQL that shuts down', error({ code: '57P01', severity: 'FATAL' })],
  ['wait', 'PostgreSQL that starts', error({ code: '57P03' })],
  ['wait', 'PostgreSQL without a free connection', error({ code: '53300' })],
  ['wait', 'PostgreSQL with a full disk', error({ code: '53100' })],
  ['wait', 'PostgreSQL that is read-only', error({ code: '25006' })],
  ['wait', 'PostgreSQL that knows no such password', error({ code: '28P01' })],
  ['retry', 'a deadlock', error({ code: '40P01' })],
  ['retry', 'a statement’s time limit', error({ code: '57014' })],
  ['retry', 'a unique key that is there', error({ code: '23505' })],
  ['retry', 'a row that is referred to and not there yet', error({ code: '23503' })],
  ['retry', 'a mistake in SQL', error({ code: '42601' })],
  ['dead-letter', 'a text that is too long', error({ code: '22001' })],
  ['dead-letter', 'a check that fails', error({ code: '23514' })],
  [
    'wait',
    'MariaDB that is read-only',
    error({ code: 'ER_OPTION_PREVENTS_STATEMENT', errno: 1290, sqlState: 'HY000' }),
  ],
  [
    'wait',
    'MariaDB with too many connections',
    error({ code: 'ER_CON_COUNT_ERROR', errno: 1040, sqlState: '08004' }),
  ],
  ['wait', 'MySQL that is gone', error({ code: 'PROTOCOL_CONNECTION_LOST', fatal: true })],
  [
    'retry',
    'a deadlock in MySQL',
    error({ code: 'ER_LOCK_DEADLOCK', errno: 1213, sqlState: '40001' }),
  ],
  [
    'dead-letter',
    'a text that is too long for MySQL',
    error({ code: 'ER_DATA_TOO_LONG', errno: 1406, sqlState: '22001' }),
  ],
  [
    'dead-letter',
    'a number that is out of range for MySQL',
    error({ code: 'ER_WARN_DATA_OUT_OF_RANGE', errno: 1264, sqlState: '22003' }),
  ],
  ['wait', 'Redis that loads', error({}, 'LOADING Redis is loading the dataset in memory')],
  [
    'wait',
    'a replica of Redis',
    error({}, 'READONLY You can’t write against a read only replica.'),
  ],
  ['wait', 'a client of Redis without a connection', named('SocketClosedUnexpectedlyError')],
  ['dead-letter', 'another type in Redis', error({}, 'WRONGTYPE Operation against a key')],
  [
    'wait',
    'DynamoDB that throttles',
    error({ name: 'ProvisionedThroughputExceededException', $metadata: {} }),
  ],
  [
    'retry',
    'a condition in DynamoDB',
    error({ name: 'ConditionalCheckFailedException', $metadata: {} }),
  ],
  [
    'dead-letter',
    'an item that DynamoDB does not take',
    error({ name: 'ValidationException', $metadata: {} }),
  ],
  ['wait', 'a Kafka client without a broker', error({ code: -195, origin: 'local' })],
  ['dead-letter', 'a record that is too large for Kafka', error({ code: 10, origin: 'kafka' })],
  ['wait', 'kafkajs without a broker', error({ name: 'KafkaJSConnectionError', retriable: true })],
  [
    'wait',
    'a refused connection below fetch',
    new TypeError('fetch failed', { cause: error({ code: 'ECONNREFUSED' }) }),
  ],
  ['wait', 'a name that does not resolve', error({ code: 'ENOTFOUND' })],
  ['wait', 'a full disk', error({ code: 'ENOSPC' })],
  ['retry', 'an answer that does not come', error({ code: 'UND_ERR_HEADERS_TIMEOUT' })],
  ['wait', '429', error({ status: 429 })],
  ['wait', '503', error({ response: { status: 503 } })],
  ['wait', '401', error({ statusCode: 401 })],
  ['retry', '500', error({ status: 500 })],
  ['retry', '409', error({ status: 409 })],
  ['dead-letter', '400', error({ status: 400 })],
  ['dead-letter', '422', error({ statusCode: 422 })],
  ['dead-letter', 'what its handler says', new NonRetryableError('never')],
  ['retry', 'what its handler wants later', new RetryableError('later')],
  ['wait', 'our store that is away', new PolluxError('POLLUX_STORE_UNREACHABLE', 'x')],
  ['stop', 'our store that refuses', new PolluxError('POLLUX_STORE_FAILED', 'x')],
  [
    'dead-letter',
    'what lies below our own words',
    new PolluxError('POLLUX_HANDLER_FAILED', 'x', { cause: error({ code: '22P02' }) }),
  ],
  ['retry', 'an error that says nothing', new Error('LOUD')],
  ['retry', 'a text', 'thrown'],
  ['retry', 'nothing', undefined],
]

describe('the course of an error', () => {
  for (const [course, what, thrown] of table) {
    test(`${what}: ${course}`, () => {
      assert.equal(courseOf(thrown), course)
    })
  }

  test('whatever is thrown has one', () => {
    const cyclic = new Error('cyclic')
    cyclic.cause = cyclic
    const odd = [
      cyclic,
      Object.create(null),
      { code: {} },
      { status: 'x' },
      Symbol('x'),
      7n,
      () => {},
    ]
    for (const thrown of odd) assert.equal(courseOf(thrown), 'retry')
  })
})
