import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { defineService, text, topic } from '../../src/index.ts'
import type { Store } from '../../src/ports/store.ts'
import {
  eventually,
  ManualClock,
  MemoryStoreData,
  memoryStore,
  testRuntime,
} from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { kept } from './kept.ts'

const left = topic('left', { key: text, value: text, create: { partitions: 1 } })
const right = topic('right', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

/** Adds its value to what its key has. */
function appending(seen: string[] = []) {
  return defineService('appending', {
    inputs: [left, right],
    outputs: [output],
    state: text,
    async handle({ key, value }, { state }) {
      seen.push(value)
      const next = `${(await state.get()) ?? ''}${value}`
      await state.put(next)
      return output.message({ key, value: next })
    },
  })
}

/** Changes a key's state behind the service's back, as another owner would, just before a commit. */
function interfering(store: Store, key: string, value: string, times = 1): Store {
  let left = times
  return storeOver(store, {
    async commit(unit) {
      const touches = unit.states.some((change) => change.key.toString() === key)
      if (left > 0 && touches) {
        left -= 1
        const [row] = (await store.load('appending', [Buffer.from(key)], [])).states
        const change = {
          key: Buffer.from(key),
          value: Buffer.concat([row?.value ?? Buffer.alloc(0), Buffer.from(value)]),
          guard: null,
          version: row?.version ?? 0,
        }
        await store.commit({ service: 'appending', marks: [], states: [change], ledger: [] })
      }
      return store.commit(unit)
    },
  })
}

test('a key whose state somebody else has changed is done again with the new one, and other keys go on', async () => {
  const seen: string[] = []
  const store = interfering(memoryStore(), 'k', '!')
  const service = appending(seen)
  await using runtime = await testRuntime(service, { store })
  await runtime.send(
    left.message({ key: 'k', value: '1' }),
    left.message({ key: 'other', value: 'a' }),
    left.message({ key: 'k', value: '2' }),
    left.message({ key: 'k', value: '3' }),
  )
  await runtime.settled()
  assert.equal(await runtime.state(service, 'k'), '!123')
  assert.equal(await runtime.state(service, 'other'), 'a')
  assert.equal(seen.filter((value) => value === 'a').length, 1, 'the other key was not done again')
  const outputs = (await runtime.messages(output)).map(({ value }) => value)
  assert.deepEqual(
    outputs.filter((value) => value !== 'a'),
    ['!1', '!12', '!123'],
  )
})

test('a handler that runs while its state is found changed is called again, after the earlier ones and before the later', async () => {
  const store = interfering(memoryStore(), 'k', '!')
  const waiting: (() => void)[] = []
  const seen: string[] = []
  const service = defineService('appending', {
    inputs: [left],
    state: text,
    async handle({ value }, { state }) {
      seen.push(value)
      const before = (await state.get()) ?? ''
      // The second is still running when the first one's unit is refused.
      if (value === '2' && seen.length === 2)
        await new Promise<void>((resolve) => waiting.push(resolve))
      await state.put(`${before}${value}`)
    },
  })
  await using runtime = await testRuntime(service, { store })
  await runtime.send(...['1', '2', '3'].map((value) => left.message({ key: 'k', value })))
  await eventually('the second runs', () => waiting.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 20))
  waiting[0]?.()
  await runtime.settled()
  assert.equal(await runtime.state(service, 'k'), '!123')
  assert.deepEqual(seen, ['1', '2', '1', '2', '3'])
})

test('two owners of the same keys on two topics lose nothing and double nothing', async () => {
  const data = new MemoryStoreData()
  const clock = new ManualClock()
  const broker = embeddedBroker({ clock })
  const keys = ['a', 'b', 'c']
  const service = appending()
  await using one = await testRuntime(service, { store: memoryStore(data), broker, clock })
  await using two = await testRuntime(service, {
    store: memoryStore(data),
    broker: kept(broker),
    clock,
  })
  for (let round = 0; round < 20; round += 1) {
    await one.send(
      ...Array.from({ length: 60 }, (_, n) =>
        (n % 2 === 0 ? left : right).message({ key: keys[n % 3] ?? '', value: 'x' }),
      ),
    )
  }
  await one.settled()
  for (const key of keys) assert.equal(await two.state(service, key), 'x'.repeat(400))
  const lengths = (await one.messages(output)).map(({ key, value }) => `${key}${value.length}`)
  assert.equal(new Set(lengths).size, 1_200, 'each state was published once')
  assert.equal(lengths.length, 1_200)
})
