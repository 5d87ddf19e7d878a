import assert from 'node:assert/strict'
import type { Store } from '../../ports/store.ts'
import {
  change,
  freshName,
  later,
  mark,
  outputsOf,
  progress,
  record,
  StoreProbe,
  type StoresTest,
  stateRow,
  type UnitParts,
} from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }

/** Several stores on the same data at once, as the processes of a service have them. */
export const sessionTests: Readonly<Record<string, StoresTest>> = {
  'what one store commits another one reads': (newStore) =>
    withTwo(newStore, async (one, two) => {
      const row = await one.acquireOne(orders0)
      const [version] = await one.committed({
        marks: [mark('a')],
        states: [change('k', 'v', 0, 'g')],
        ledger: [progress(row, 1, { outputs: [record('x')] })],
      })
      assert.deepEqual(await two.loadOne('k'), stateRow('v', version, 'g'))
      assert.deepEqual(await two.applied(mark('a')), [true])
      assert.deepEqual(outputsOf(await two.acquireOne(orders0)), [[1, ['x']]])
    }),

  'a store that lost its partition to another one is fenced': (newStore) =>
    withTwo(newStore, async (one, two) => {
      const old = await one.acquireOne(orders0)
      await one.committed({ ledger: [progress(old, 4, { settled: [{ from: 6, to: 8 }] })] })
      const current = await two.acquireOne(orders0)
      assert.equal(current.unit, 1)
      assert.equal(current.next, 4)
      assert.deepEqual(current.settled, [{ from: 6, to: 8 }])
      const late = { states: [change('k', 'late', 0)], ledger: [progress(later(old), 9)] }
      assert.deepEqual(await one.commit(late), { outcome: 'fenced' })
      await two.committed({ states: [change('k', 'good', 0)], ledger: [progress(current, 9)] })
    }),

  'outputs that one store left another one acknowledges': (newStore) =>
    withTwo(newStore, async (one, two) => {
      const row = await one.acquireOne(orders0)
      await one.committed({ ledger: [progress(row, 1, { outputs: [record('a')] })] })
      await one.committed({ ledger: [progress(later(row), 2, { outputs: [record('b')] })] })
      const current = await two.acquireOne(orders0)
      await two.committed({ ledger: [progress(current, 3, { acknowledged: 1 })] })
      const again = await one.acquireOne(orders0)
      assert.deepEqual(outputsOf(again), [[2, ['b']]])
      await two.store.acknowledge(two.service, [{ ...orders0, epoch: again.epoch, unit: 2 }])
      assert.deepEqual(outputsOf(await one.acquireOne(orders0)), [])
    }),

  'of two stores that commit one key at once one is in conflict': (newStore) =>
    withTwo(newStore, async (one, two) => {
      for (let round = 0; round < 20; round += 1) {
        const key = `k${round}`
        const version = round % 2 === 0 ? 0 : await one.put(key, 'start', 0)
        await oneWins(
          [one, { states: [change(key, 'one', version)] }],
          [two, { states: [change(key, 'two', version)] }],
        )
      }
    }),

  'of two stores that commit one mark at once one is in conflict': (newStore) =>
    withTwo(newStore, async (one, two) => {
      for (let round = 0; round < 20; round += 1) {
        await oneWins(
          [one, { marks: [mark(`${round}`), mark(`one ${round}`)] }],
          [two, { marks: [mark(`two ${round}`), mark(`${round}`)] }],
        )
        const applied = await one.applied(mark(`one ${round}`), mark(`two ${round}`))
        assert.equal(applied.filter(Boolean).length, 1, 'nothing of the other one is written')
      }
    }),

  'of two stores that commit the same in opposite order one is in conflict': (newStore) =>
    withTwo(newStore, async (one, two) => {
      const [row0, row1] = await one.acquire(orders0, orders1)
      assert.ok(row0 && row1)
      const units = [0, 0]
      for (let round = 0; round < 20; round += 1) {
        const names = Array.from({ length: 100 }, (_, index) => `${round} ${index}`)
        const marks = names.map((name) => mark(name))
        const states = names.map((name) => change(name, 'v', 0))
        const winner = await oneWins(
          [one, { marks, states, ledger: [progress(later(row0, units[0]), round)] }],
          [
            two,
            {
              marks: marks.toReversed(),
              states: states.toReversed(),
              ledger: [progress(later(row1, units[1]), round)],
            },
          ],
        )
        units[winner] = (units[winner] as number) + 1
      }
    }),

  'of two stores that commit partitions in opposite order one is fenced': (newStore) =>
    withTwo(newStore, async (one, two) => {
      const partitions = Array.from({ length: 50 }, (_, partition) => ({
        topic: 'orders',
        partition,
      }))
      const rows = await one.acquire(...partitions)
      for (let round = 0; round < 10; round += 1) {
        const ledger = rows.map((row) => progress(later(row, round), round))
        const results = await Promise.all([
          one.commit({ ledger }),
          two.commit({ ledger: ledger.toReversed() }),
        ])
        assert.deepEqual(results.map(({ outcome }) => outcome).sort(), ['committed', 'fenced'])
      }
    }),

  'stores that acquire partitions in opposite order all get them': (newStore) =>
    withTwo(newStore, async (one, two) => {
      for (let round = 0; round < 10; round += 1) {
        const asked = Array.from({ length: 50 }, (_, partition) => ({
          topic: `topic-${round}`,
          partition,
        }))
        const [ours, theirs] = await Promise.all([
          one.acquire(...asked),
          two.acquire(...asked.toReversed()),
        ])
        const epochs = theirs.toReversed().map(({ epoch }) => epoch)
        assert.ok(ours.every(({ epoch }, index) => epoch !== epochs[index]))
      }
    }),

  'stores that commit different partitions at once both succeed': (newStore) =>
    withTwo(newStore, async (one, two) => {
      const [row0, row1] = await one.acquire(orders0, orders1)
      assert.ok(row0 && row1)
      for (let round = 0; round < 20; round += 1) {
        await Promise.all(
          (
            [
              [one, row0],
              [two, row1],
            ] as const
          ).map(([probe, row]) =>
            probe.committed({
              marks: [mark(`${row.partition} ${round}`)],
              states: [change(`${row.partition} ${round}`, 'v', 0)],
              ledger: [progress(later(row, round), round, { outputs: [record('x')] })],
            }),
          ),
        )
      }
    }),

  'a takeover during a commit sees all of it, or fences all of it': (newStore) =>
    withTwo(newStore, async (one, two) => {
      for (let round = 0; round < 20; round += 1) {
        const partition = { topic: 'orders', partition: round }
        const old = await one.acquireOne(partition)
        const [{ outcome }, row] = await Promise.all([
          one.commit({
            marks: [mark(`${round}`)],
            states: [change(`k${round}`, 'v', 0)],
            ledger: [progress(old, 1, { outputs: [record('x')] })],
          }),
          two.acquireOne(partition),
        ])
        const isCommitted = outcome === 'committed'
        assert.ok(isCommitted || outcome === 'fenced', outcome)
        const { value } = await two.loadOne(`k${round}`)
        assert.equal(value?.toString(), isCommitted ? 'v' : undefined)
        assert.deepEqual(await two.applied(mark(`${round}`)), [isCommitted])
        assert.equal(row.next, isCommitted ? 1 : undefined)
        assert.equal(row.unit, isCommitted ? 1 : 0)
        assert.deepEqual(outputsOf(row), isCommitted ? [[1, ['x']]] : [])
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

/** Commits two units at once, expects one to be in conflict, and gives the place of the other one. */
async function oneWins(...units: readonly (readonly [StoreProbe, UnitParts])[]): Promise<number> {
  const results = await Promise.all(units.map(([probe, unit]) => probe.commit(unit)))
  const outcomes = results.map(({ outcome }) => outcome)
  assert.deepEqual(outcomes.toSorted(), ['committed', 'conflict'])
  return outcomes.indexOf('committed')
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
