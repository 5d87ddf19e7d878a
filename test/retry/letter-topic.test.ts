import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import {
  bytes,
  defineService,
  NonRetryableError,
  nullable,
  PolluxError,
  topic,
} from '../../src/index.ts'
import type { OutgoingRecord, Refusal } from '../../src/ports/broker.ts'
import { brokerOver } from '../../src/testing/broker-over.ts'
import { eventually, ManualClock, testRuntime } from '../../src/testing/index.ts'
import { deadLettersOf, told } from './dead-letters.ts'

const input = topic('input', {
  key: nullable(bytes),
  value: nullable(bytes),
  create: { partitions: 1 },
})
const output = topic('output', { key: nullable(bytes), value: bytes, create: { partitions: 1 } })

/** A broker whose topic of dead letters takes what `refusal` lets through. */
function brokerThat(clock: ManualClock, refusal: (letter: OutgoingRecord) => Error | undefined) {
  const broker = embeddedBroker({ clock })
  return brokerOver(broker, {
    async producer() {
      const producer = await broker.producer()
      return {
        check: (record) => producer.check(record),
        close: () => producer.close(),
        async send(records) {
          const refusals: Refusal[] = []
          const taken: OutgoingRecord[] = []
          for (const [index, record] of records.entries()) {
            const error = record.topic === 'service.dlq' ? refusal(record) : undefined
            if (error === undefined) taken.push(record)
            else refusals.push({ index, error })
          }
          assert.deepEqual(await producer.send(taken), [])
          return refusals
        },
      }
    },
  })
}

const variants = [
  { title: 'without a store', options: {} },
  { title: 'with the outbox', options: { idempotency: { by: 'event-id' } } },
  {
    title: 'published before the store',
    options: { idempotency: { by: 'event-id' }, publish: 'direct' },
  },
] as const

for (const { title, options } of variants) {
  const service = defineService('service', {
    ...options,
    inputs: [input],
    outputs: [output],
    handle({ value }) {
      if (String(value) === 'good') return output.message({ key: null, value: Buffer.from('out') })
      throw new NonRetryableError('never')
    },
  })
  const message = (value: string | null) =>
    input.message({ key: null, value: value === null ? null : Buffer.from(value) })

  describe(`dead letters, ${title}`, () => {
    test('case 20: while they cannot be written the position stays, the process is not ready, and then there is one', async () => {
      const clock = new ManualClock()
      let isDown = true
      const broker = brokerThat(clock, () =>
        isDown ? new PolluxError('POLLUX_OUTPUT_REFUSED', 'not authorised') : undefined,
      )
      await using runtime = await testRuntime(service, { clock, broker })
      await runtime.send(message('bad'), message('good'))
      await eventually('it waits', async () => {
        await clock.advance(10_000)
        return runtime.readiness.waitingFor.includes('writing dead letters to service.dlq')
      })
      await clock.advance(60_000)
      const { offsets } = await broker.admin.group('service')
      assert.ok(offsets.every(({ offset }) => (offset ?? 0) === 0))
      isDown = false
      await eventually('it goes on', async () => {
        await clock.advance(10_000)
        return (await broker.admin.group('service')).offsets.some(({ offset }) => offset === 2)
      })
      assert.equal((await deadLettersOf(broker, 'service')).length, 1)
      assert.equal((await runtime.messages(output)).length, 1)
      assert.ok(runtime.readiness.isReady)
    })

    test('case 17: one that is too large for its topic is reduced and says so, and the next message is handled', async () => {
      const clock = new ManualClock()
      const broker = brokerThat(clock, ({ value }) =>
        (value?.length ?? 0) > 100
          ? new PolluxError('POLLUX_RECORD_TOO_LARGE', 'larger than max.message.bytes')
          : undefined,
      )
      await using runtime = await testRuntime(service, { clock, broker })
      await runtime.send(message('x'.repeat(200)), message('good'))
      await runtime.settled()
      const [letter] = await deadLettersOf(broker, 'service')
      assert.ok(letter)
      assert.equal(letter.raw.value, null)
      assert.equal(told(letter).reduced, 'value headers')
      assert.equal(told(letter).offset, '0')
      assert.equal((await runtime.messages(output)).length, 1)
    })

    test('case 53: null stays null, and empty stays empty', async () => {
      await using runtime = await testRuntime(service)
      await runtime.send(message(null), message(''))
      await runtime.settled()
      const letters = await deadLettersOf(runtime.broker, 'service')
      assert.deepEqual(
        letters.map(({ raw }) => raw.value && raw.value.length),
        [null, 0],
      )
    })
  })
}
