import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { defineService, PolluxError, text, topic } from '../../src/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { eventually, memoryStore, testRuntime } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const count = 10

test('R1: what was settled above the position stays settled through two restarts, fetched in between or not', async () => {
  const memory = sharedMemory()
  const data = new MemoryStoreData()
  const handled: string[] = []
  let first: 'waits' | 'works' = 'waits'
  let fail = (_: Error): void => {}
  const service = defineService('counting', {
    ...stopsAtFailure,
    inputs: [input],
    state: text,
    async handle({ key }, { state }) {
      handled.push(key)
      await state.put(`${Number((await state.get()) ?? 0) + 1}`)
      if (key === 'k0' && first === 'waits') await new Promise((_, reject) => (fail = reject))
    },
  })
  const row = () => data.ledger.get(JSON.stringify(['counting', 'input', 0]))

  // The first message waits, the others are stored; then it fails.
  const one = await testRuntime(service, {
    broker: embeddedBroker({ memory }),
    store: memoryStore(data),
  })
  await one.send(
    ...Array.from({ length: count }, (_, n) => input.message({ key: `k${n}`, value: 'x' })),
  )
  await eventually('the others are stored', () => row()?.settled[0]?.to === count)
  fail(new Error('as planned'))
  await assert.rejects(one.settled(), /as planned/)
  await one.stop().catch(() => {})
  assert.equal(row()?.next, 0)

  // The next owner stores the first message before it has fetched the others, and dies.
  first = 'works'
  const two = await testRuntime(service, {
    broker: embeddedBroker({ memory }),
    store: diesAfterOneCommit(memoryStore(data)),
    bufferMessages: 1,
  })
  await eventually('it has died', () =>
    two.settled().then(
      () => true,
      (error: unknown) => PolluxError.is(error, 'POLLUX_STORE_FAILED'),
    ),
  )
  await two.stop().catch(() => {})

  const three = await testRuntime(service, {
    broker: embeddedBroker({ memory }),
    store: memoryStore(data),
  })
  await three.settled()
  await three.stop()
  assert.deepEqual(handled.slice(count), ['k0'], 'only the first was handled again')
  for (let n = 0; n < count; n += 1) {
    const state = data.states.get(
      JSON.stringify(['counting', Buffer.from(`k${n}`).toString('base64')]),
    )
    assert.equal(state?.value?.toString(), '1', `k${n}`)
  }
})

function diesAfterOneCommit(store: Store): Store {
  let commits = 0
  return storeOver(store, {
    async commit(unit) {
      commits += 1
      if (commits > 1) throw new PolluxError('POLLUX_STORE_FAILED', 'This process is dead.')
      const result = await store.commit(unit)
      return result
    },
  })
}
