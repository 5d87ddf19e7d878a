import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineService, PolluxError, text, topic } from '../../src/index.ts'
import type { Unit } from '../../src/ports/store.ts'
import { ManualClock, MemoryStoreData, memoryStore, testRuntime } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { deadLettersOf, told } from './dead-letters.ts'
import { settledInTime } from './settled-in-time.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })

const service = defineService('service', {
  inputs: [input],
  state: text,
  async handle({ value }, { state }) {
    await state.put(`${(await state.get()) ?? ''}${value}`)
  },
})

/** A memory store that rejects whole units for what is in them, as a database does. */
function storeThatRefuses(clock: ManualClock, isRefused: (unit: Unit) => boolean) {
  const store = memoryStore(new MemoryStoreData(), clock)
  return storeOver(store, {
    async commit(unit) {
      if (isRefused(unit)) throw new PolluxError('POLLUX_STORE_FAILED', 'It does not say why.')
      return await store.commit(unit)
    },
  })
}

test('one message whose effects the store refuses is found among many: it is a dead letter without effects, and its key goes on', async () => {
  const clock = new ManualClock()
  const store = storeThatRefuses(clock, ({ states }) =>
    states.some(({ value }) => value?.includes('!') === true),
  )
  await using runtime = await testRuntime(service, { clock, store })
  const values = Array.from({ length: 200 }, (_, n) => (n === 57 || n === 133 ? '!' : 'x'))
  await runtime.send(
    ...values.map((value, n) => input.message({ key: `k${n % 10}`, value, partition: n % 2 })),
  )
  await runtime.settled()
  for (let key = 0; key < 10; key += 1) {
    const expected = 'x'.repeat(key === 7 || key === 3 ? 19 : 20)
    assert.equal(await runtime.state(service, `k${key}`), expected)
  }
  const letters = await deadLettersOf(runtime.broker, 'service')
  assert.deepEqual(
    letters.map(({ raw }) => String(raw.value)),
    ['!', '!'],
  )
  assert.equal(letters[0] && told(letters[0]).error, 'POLLUX_STORE_FAILED')
})

test('a store that refuses everything is no message’s fault: the service stops, and there is no dead letter', async () => {
  const clock = new ManualClock()
  await using runtime = await testRuntime(service, {
    clock,
    store: storeThatRefuses(clock, () => true),
  })
  await runtime.send(...['a', 'b', 'c'].map((key) => input.message({ key, value: 'x' })))
  await assert.rejects(settledInTime(runtime), /It does not say why/)
  assert.equal(runtime.counts[0]?.deadLetters, 0)
})
