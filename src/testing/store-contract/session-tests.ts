import assert from 'node:assert/strict'
import type { Store } from '../../ports/store.ts'
import { change, freshName, progress, StoreProbe, type StoresTest } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }

export const sessionTests: Readonly<Record<string, StoresTest>> = {
  'what one store commits another one reads': (newStore) =>
    withTwo(newStore, async (one, two) => {
      const version = await one.put('k', 'v', 0)
      assert.deepEqual(await two.loadOne('k'), { value: Buffer.from('v'), version })
    }),

  'a store that lost its partition to another one is fenced': (newStore) =>
    withTwo(newStore, async (one, two) => {
      const old = await one.acquireOne(orders0)
      await one.committed([], [progress(old, 4, [{ from: 6, to: 8 }])])
      const current = await two.acquireOne(orders0)
      assert.equal(current.next, 4)
      assert.deepEqual(current.settled, [{ from: 6, to: 8 }])
      assert.deepEqual(await one.commit([change('k', 'late', 0)], [progress(old, 9)]), {
        outcome: 'fenced',
      })
      await two.committed([change('k', 'good', 0)], [progress(current, 9)])
    }),

  'of two stores that commit one key at once one is in conflict': (newStore) =>
    withTwo(newStore, async (one, two) => {
      for (let round = 0; round < 20; round += 1) {
        const key = `k${round}`
        const version = round % 2 === 0 ? 0 : await one.put(key, 'start', 0)
        const results = await Promise.all([
          one.commit([change(key, 'one', version)]),
          two.commit([change(key, 'two', version)]),
        ])
        assert.deepEqual(results.map(({ outcome }) => outcome).sort(), ['committed', 'conflict'])
      }
    }),

  'a takeover during a commit sees all of it, or fences all of it': (newStore) =>
    withTwo(newStore, async (one, two) => {
      for (let round = 0; round < 20; round += 1) {
        const partition = { topic: 'orders', partition: round }
        const old = await one.acquireOne(partition)
        const [{ outcome }, row] = await Promise.all([
          one.commit([change(`k${round}`, 'v', 0)], [progress(old, 1)]),
          two.acquireOne(partition),
        ])
        const { value } = await two.loadOne(`k${round}`)
        assert.equal(row.next, outcome === 'committed' ? 1 : undefined)
        assert.equal(value?.toString(), outcome === 'committed' ? 'v' : undefined)
      }
    }),

  async 'several stores open the same new data at once'(newStore) {
    const stores = Array.from({ length: 3 }, () => newStore())
    try {
      await Promise.all(stores.map((store) => store.open()))
      const service = freshName()
      const rows = await Promise.all(
        stores.map((store) => new StoreProbe(store, service).acquireOne(orders0)),
      )
      assert.equal(new Set(rows.map(({ epoch }) => epoch)).size, stores.length)
    } finally {
      await Promise.all(stores.map((store) => store.close()))
    }
  },
}

/** Runs a test with two stores of one service. */
async function withTwo(
  newStore: () => Store,
  run: (one: StoreProbe, two: StoreProbe) => Promise<void>,
): Promise<void> {
  const service = freshName()
  const stores = [newStore(), newStore()] as const
  try {
    const one = await StoreProbe.open(stores[0], service)
    const two = await StoreProbe.open(stores[1], service)
    await run(one, two)
  } finally {
    await Promise.all(stores.map((store) => store.close()))
  }
}
