import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineService, text, topic } from '../../src/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { type MemoryStoreData, memoryStore } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { failOverCases } from './fail-over.ts'
import { faultyStore } from './faulty-store.ts'
import { Cluster } from './lives/cluster.ts'

/** Sets the store in memory back to what it has now. */
function snapshotOf(data: MemoryStoreData): () => Promise<void> {
  const maps = [data.ledger, data.states, data.marks] as readonly Map<string, unknown>[]
  const copies = maps.map((map) => [...map])
  return async () => {
    for (const [index, map] of maps.entries()) {
      map.clear()
      for (const [key, value] of copies[index] ?? []) map.set(key, value)
    }
  }
}

let cluster = new Cluster()

failOverCases('memory', {
  newCluster: () => {
    cluster = new Cluster()
    return cluster
  },
  newStore: () => memoryStore(cluster.data, cluster.clock),
  snapshot: async () => snapshotOf(cluster.data),
})

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })

/** A service that keeps the values of each key, and a partition for each of two keys. */
async function newScene(change: (store: Store) => Store) {
  const scene = new Cluster()
  await scene.createTopics(input)
  const handled: string[] = []
  const service = defineService('fail-over', {
    inputs: [input],
    state: text,
    async handle({ value }, { state }) {
      handled.push(value)
      await state.put(`${(await state.get()) ?? ''}${value}`)
    },
  })
  const runtime = await scene.start(service, { store: change })
  const send = (partition: number, value: string) =>
    scene.send(input.message({ key: `k${partition}`, value, partition }))
  const settled = (what: string) => scene.until(what, () => scene.isSettled(service))
  return { scene, service, handled, runtime, send, settled }
}

test('R2: once trouble of the store is over, its owner looks at all rows at once', async () => {
  let hasTrouble = false
  const { scene, service, handled, runtime, send, settled } = await newScene((store) =>
    faultyStore(store, (call) => {
      const fault = hasTrouble && call === 'load' ? 'unreachable' : undefined
      if (fault !== undefined) hasTrouble = false
      return fault
    }),
  )
  using _ = scene
  await send(0, 'a')
  await settled('a is done')
  const setBack = snapshotOf(scene.data)
  await send(0, 'b')
  await settled('b is done')
  await setBack()
  const start = scene.clock.now()
  hasTrouble = true
  await send(1, 'x')
  await scene.until('b is there again', () => scene.state(service, 'k0') === 'ab')
  assert.ok(scene.clock.now() - start < 15_000, 'before it would look by itself')
  await settled('x is done')
  assert.deepEqual(handled, ['a', 'b', 'x', 'b'])
  assert.equal(runtime.counts[0]?.restarts, 1)
})

test('R2: a unit that is committed while its owner looks at the rows is no loss', async () => {
  const gates = { commit: Promise.withResolvers<void>(), holds: Promise.withResolvers<void>() }
  let looks = 0
  let stored = 0
  const { scene, handled, runtime, send, settled } = await newScene((store) =>
    storeOver(store, {
      async holds(...asked) {
        looks += 1
        // What was asked for is of before the unit, what is answered of after it.
        if (looks === 1) await gates.holds.promise
        return await store.holds(...asked)
      },
      async commit(unit) {
        const result = await store.commit(unit)
        stored += 1
        if (stored === 2) await gates.commit.promise
        return result
      },
    }),
  )
  using _ = scene
  await send(0, 'a')
  await settled('a is done')
  await scene.until('it looks', () => looks === 1, 1_000)
  await send(0, 'b')
  await scene.until('b is stored, and its answer on the way', () => stored === 2)
  gates.holds.resolve()
  for (let turns = 0; turns < 10; turns += 1) await scene.clock.advance(100)
  gates.commit.resolve()
  await settled('b is done')
  await scene.until('it looks again', () => looks === 2, 1_000)
  await send(0, 'c')
  await settled('c is done')
  assert.deepEqual(handled, ['a', 'b', 'c'])
  assert.equal(runtime.counts[0]?.restarts, 0)
})

test('R2: a look that fails is no failure of the service, and comes again', async () => {
  let failures = 0
  const { scene, service, runtime, send, settled } = await newScene((store) =>
    storeOver(store, {
      async holds(...asked) {
        if (failures < 2) {
          failures += 1
          throw new Error('The store does not answer.')
        }
        return await store.holds(...asked)
      },
    }),
  )
  using _ = scene
  await send(0, 'a')
  await settled('a is done')
  const setBack = snapshotOf(scene.data)
  await send(0, 'b')
  await settled('b is done')
  await setBack()
  await scene.until('b is there again', () => scene.state(service, 'k0') === 'ab', 1_000)
  assert.equal(failures, 2)
  assert.equal(runtime.counts[0]?.restarts, 1)
})
