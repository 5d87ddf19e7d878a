import assert from 'node:assert/strict'
import type { LedgerRow } from '../../ports/store.ts'
import {
  later,
  outputsOf,
  progress,
  record,
  type StoreProbe,
  type StoreTest,
} from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }
const prices0 = { topic: 'prices', partition: 0 }

/** Acquires a partition and stores outputs in units 1 to `count`; the row is as after them. */
async function stored(probe: StoreProbe, count: number, partition = orders0): Promise<LedgerRow> {
  const row = await probe.acquireOne(partition)
  for (let unit = 1; unit <= count; unit += 1) {
    const outputs = [record(`${unit}`)]
    await probe.committed({ ledger: [progress(later(row, unit - 1), unit, { outputs })] })
  }
  return later(row, count)
}

/** The units whose outputs are there. */
async function left(probe: StoreProbe, partition = orders0): Promise<readonly number[]> {
  return outputsOf(await probe.acquireOne(partition)).map(([unit]) => unit)
}

/** Acknowledges outputs as units do, and as the method of that name does. */
const ways: Readonly<
  Record<string, (probe: StoreProbe, row: LedgerRow, unit: number) => Promise<unknown>>
> = {
  'a unit': (probe, row, unit) =>
    probe.committed({ ledger: [progress(row, 100, { acknowledged: unit })] }),
  acknowledge: (probe, { topic, partition, epoch }, unit) =>
    probe.store.acknowledge(probe.service, [{ topic, partition, epoch, unit }]),
}

const both: readonly (readonly [string, StoreTest])[] = Object.entries(ways).flatMap(
  ([name, acknowledge]): readonly (readonly [string, StoreTest])[] => [
    [
      `outputs up to what ${name} acknowledges are gone, younger ones stay`,
      async (probe) => {
        const row = await stored(probe, 12)
        await acknowledge(probe, row, 9)
        assert.deepEqual(await left(probe), [10, 11, 12])
      },
    ],
    [
      `${name} may acknowledge all there is, and a unit that had no outputs`,
      async (probe) => {
        const row = await stored(probe, 2)
        await probe.committed({ ledger: [progress(row, 3)] })
        await acknowledge(probe, later(row), 3)
        assert.deepEqual(await left(probe), [])
      },
    ],
    [
      `${name} acknowledges outputs of that partition alone`,
      async (probe) => {
        await stored(probe, 2, orders1)
        await stored(probe, 2, prices0)
        const row = await stored(probe, 2)
        await acknowledge(probe, row, 2)
        assert.deepEqual(await left(probe), [])
        assert.deepEqual(await left(probe, orders1), [1, 2])
        assert.deepEqual(await left(probe, prices0), [1, 2])
      },
    ],
    [
      `${name} acknowledges outputs of its own service alone`,
      async (probe) => {
        const other = probe.renamed()
        await stored(other, 2)
        await acknowledge(probe, await stored(probe, 2), 2)
        assert.deepEqual(await left(other), [1, 2])
      },
    ],
    [
      `what ${name} acknowledges again is gone already`,
      async (probe) => {
        const row = await stored(probe, 3)
        await acknowledge(probe, row, 2)
        const again = await probe.acquireOne(orders0)
        await acknowledge(probe, again, 2)
        await acknowledge(probe, await probe.acquireOne(orders0), 1)
        assert.deepEqual(await left(probe), [3])
      },
    ],
  ],
)

/** How stored outputs go. */
export const acknowledgeTests: Readonly<Record<string, StoreTest>> = {
  ...Object.fromEntries(both),

  async 'a unit that acknowledges nothing lets no outputs go'(probe) {
    const row = await stored(probe, 2)
    await probe.committed({ ledger: [progress(row, 3)] })
    assert.deepEqual(await left(probe), [1, 2])
  },

  async 'a unit acknowledges what is there, never what it stores itself'(probe) {
    const row = await stored(probe, 2)
    const outputs = [record('3')]
    await probe.committed({ ledger: [progress(row, 3, { outputs, acknowledged: 2 })] })
    assert.deepEqual(await left(probe), [3])
  },

  async 'a unit acknowledges for each of its partitions what it says for that one'(probe) {
    const row0 = await stored(probe, 3)
    const row1 = await stored(probe, 3, orders1)
    const row2 = await stored(probe, 3, prices0)
    await probe.committed({
      ledger: [
        progress(row2, 9),
        progress(row0, 9, { acknowledged: 1 }),
        progress(row1, 9, { acknowledged: 2 }),
      ],
    })
    assert.deepEqual(await left(probe), [2, 3])
    assert.deepEqual(await left(probe, orders1), [3])
    assert.deepEqual(await left(probe, prices0), [1, 2, 3])
  },

  async 'acknowledge takes several partitions, unknown ones and none'(probe) {
    const { epoch } = await stored(probe, 3)
    const row1 = await stored(probe, 3, orders1)
    await probe.store.acknowledge(probe.service, [])
    await probe.store.acknowledge(probe.service, [
      { ...orders1, epoch: row1.epoch, unit: 2 },
      { topic: 'unknown', partition: 0, epoch, unit: 7 },
      { ...orders0, epoch, unit: 1 },
    ])
    assert.deepEqual(await left(probe), [2, 3])
    assert.deepEqual(await left(probe, orders1), [3])
    const [row] = await probe.acquire({ topic: 'unknown', partition: 0 })
    assert.equal(row?.unit, 0)
  },

  async 'acknowledge under another epoch than the row has deletes nothing, and is no error'(probe) {
    const { epoch: former } = await stored(probe, 3)
    const { epoch } = await probe.acquireOne(orders0)
    const row1 = await stored(probe, 3, orders1)
    await probe.store.acknowledge(probe.service, [
      { ...orders0, epoch: former, unit: 3 },
      { ...orders1, epoch: row1.epoch, unit: 2 },
    ])
    await probe.store.acknowledge(probe.service, [{ ...orders0, epoch: epoch + 1, unit: 3 }])
    assert.deepEqual(await left(probe), [1, 2, 3])
    assert.deepEqual(await left(probe, orders1), [3])
  },

  async 'acknowledge disturbs no owner'(probe) {
    const row = await stored(probe, 2)
    const { epoch } = row
    await probe.store.acknowledge(probe.service, [{ ...orders0, epoch, unit: 1 }])
    await probe.committed({ ledger: [progress(row, 7, { settled: [{ from: 9, to: 10 }] })] })
    await probe.store.acknowledge(probe.service, [{ ...orders0, epoch, unit: 2 }])
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, 7)
    assert.deepEqual(again.settled, [{ from: 9, to: 10 }])
    assert.equal(again.unit, 3)
    assert.deepEqual(again.unpublished, [])
  },
}
