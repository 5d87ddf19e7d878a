import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countOwn, newCounts } from '../../src/engine/counts.ts'
import {
  bytes,
  defineService,
  NonRetryableError,
  PolluxError,
  RetryableError,
  topic,
} from '../../src/index.ts'
import { testRuntime } from '../../src/testing/index.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

const input = topic('input', { value: bytes, create: { partitions: 1 } })
const message = input.message({ key: null, value: Buffer.from('x') })

test('a handler has the runtime’s clock, and what it counts is there under its names', async () => {
  let time = 0
  const service = defineService('service', {
    ...stopsAtFailure,
    inputs: [input],
    handle(_, { clock, count }) {
      time = clock.now()
      count('seen')
      count('bytes', 5)
    },
  })
  await using runtime = await testRuntime(service)
  await runtime.send(message, message)
  await runtime.settled()
  assert.equal(time, runtime.clock.now())
  assert.deepEqual(runtime.counts[0]?.own, { seen: 2, bytes: 10 })
})

test('names that a handler makes up all the time are counted together', () => {
  const counts = newCounts('service')
  for (let index = 0; index < 1_000; index += 1) countOwn(counts, `key-${index}`, 1)
  assert.equal(Object.keys(counts.own).length, 101)
  assert.equal(counts.own['other'], 900)
  countOwn(counts, 'key-7', 1)
  assert.equal(counts.own['key-7'], 2)
})

/** A handler that waits until it is told to stop and throws this then. */
function waiting(error: Error): {
  service: ReturnType<typeof defineService>
  begun: Promise<void>
} {
  const begun = Promise.withResolvers<void>()
  const service = defineService('service', {
    ...stopsAtFailure,
    inputs: [input],
    async handle(_, { stopping, signal }) {
      begun.resolve()
      await new Promise((resolve) => stopping.addEventListener('abort', resolve))
      assert.ok(!signal.aborted)
      throw error
    },
  })
  return { service, begun: begun.promise }
}

test('case 58: a handler that waits hears of a stop at once, and ends it without a failure by a RetryableError', async () => {
  const { service, begun } = waiting(new RetryableError('not now', { after: '1h' }))
  await using runtime = await testRuntime(service)
  await runtime.send(message)
  await begun
  assert.deepEqual(await runtime.stop(), { outcome: 'drained', abandoned: 0 })
  const { offsets } = await runtime.broker.admin.group('service').catch(() => ({ offsets: [] }))
  assert.ok(offsets.every(({ offset }) => offset === 0))
})

test('any other error is a failure while stopping as well', async () => {
  const { service, begun } = waiting(new NonRetryableError('never'))
  const runtime = await testRuntime(service)
  await runtime.send(message)
  await begun
  await assert.rejects(runtime.stop(), (error: PolluxError) =>
    PolluxError.is(error.cause, 'POLLUX_NOT_RETRYABLE'),
  )
})

test('a RetryableError of a partition that goes on stops it', async () => {
  const service = defineService('service', {
    ...stopsAtFailure,
    inputs: [input],
    handle() {
      throw new RetryableError('not now', { after: '2s' })
    },
  })
  const runtime = await testRuntime(service)
  await runtime.send(message)
  await assert.rejects(runtime.settled(), ({ cause }: PolluxError) => {
    assert.equal((cause as RetryableError).after, 2_000)
    return PolluxError.is(cause, 'POLLUX_RETRY_LATER')
  })
})
