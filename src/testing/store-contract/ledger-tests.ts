import assert from 'node:assert/strict'
import type { HeldRow } from '../../ports/store.ts'
import { change, later, progress, record, type StoreTest } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }

/** What the ledger keeps of a partition. */
export const ledgerTests: Readonly<Record<string, StoreTest>> = {
  async 'a partition that was never worked on has no next offset, no unit and no outputs'(probe) {
    const row = await probe.acquireOne(orders0)
    const { epoch } = row
    assert.deepEqual(row, {
      ...orders0,
      topicId: 'first',
      epoch,
      unit: 0,
      next: undefined,
      settled: [],
      unpublished: [],
    })
  },

  async 'acquire gives rows in the order asked for'(probe) {
    const asked = [
      { topic: 'b', partition: 10 },
      { topic: 'a', partition: 2 },
      { topic: 'b', partition: 9 },
      { topic: 'B', partition: 9 },
    ]
    await probe.acquire(...asked.slice(2))
    const rows = await probe.acquire(...asked)
    assert.deepEqual(
      rows.map(({ topic, partition }) => ({ topic, partition })),
      asked,
    )
  },

  async 'a row keeps the topic id that it was made with'(probe) {
    const made = await probe.acquireOne({ ...orders0, topicId: 'first' })
    assert.equal(made.topicId, 'first')
    const again = await probe.acquireOne({ ...orders0, topicId: 'second' })
    assert.equal(again.topicId, 'first')
    await probe.committed({ ledger: [progress(again, 3)] })
    assert.equal((await probe.acquireOne({ ...orders0, topicId: 'second' })).topicId, 'first')
  },

  async 'acquire of nothing gives nothing'(probe) {
    assert.deepEqual(await probe.acquire(), [])
  },

  async 'each acquire raises the epoch'(probe) {
    const first = await probe.acquireOne(orders0)
    const second = await probe.acquireOne(orders0)
    const third = await probe.acquireOne(orders0)
    assert.ok(second.epoch > first.epoch, `${second.epoch} is above ${first.epoch}`)
    assert.ok(third.epoch > second.epoch, `${third.epoch} is above ${second.epoch}`)
  },

  async 'no epoch is below the milliseconds of the clock, so none is given twice when rows are set back'(
    probe,
  ) {
    const begin = Date.now()
    const { epoch } = await probe.acquireOne(orders0)
    // Clocks of two machines differ, and a test's own may stand still; counted epochs would begin at 1.
    assert.ok(epoch > Date.UTC(2025, 11, 31), `${epoch} is a time`)
    assert.ok(epoch < begin + 24 * 3_600_000, `${epoch} is not in the future`)
  },

  async 'acquire leaves other partitions to their owners'(probe) {
    const [row0] = await probe.acquire(orders0, orders1)
    await probe.acquire(orders1)
    assert.ok(row0)
    await probe.committed({ ledger: [progress(row0, 1)] })
  },

  async 'next and settled ranges come back as they were committed'(probe) {
    const row = await probe.acquireOne(orders0)
    const settled = [
      { from: 12, to: 13 },
      { from: 15, to: 40 },
      { from: 1_000_000, to: 1_000_002 },
    ]
    await probe.committed({ ledger: [progress(row, 10, { settled })] })
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, 10)
    assert.deepEqual(again.settled, settled)
  },

  async 'a commit replaces the settled ranges of before'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 0, { settled: [{ from: 1, to: 3 }] })] })
    await probe.committed({ ledger: [progress(later(row), 3)] })
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, 3)
    assert.deepEqual(again.settled, [])
  },

  async 'next may be 0, which is not the same as none'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 0)] })
    assert.equal((await probe.acquireOne(orders0)).next, 0)
  },

  async 'offsets up to 2^53 - 1 are kept exactly'(probe) {
    const row = await probe.acquireOne(orders0)
    const top = Number.MAX_SAFE_INTEGER
    const settled = [{ from: top - 4, to: top }]
    await probe.committed({ ledger: [progress(row, top - 10, { settled })] })
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, top - 10)
    assert.deepEqual(again.settled, settled)
  },

  async 'each unit raises the number by one, also of a row that it changes in nothing else'(probe) {
    const row = await probe.acquireOne(orders0)
    assert.equal(row.unit, 0)
    await probe.committed({ ledger: [progress(row, 3)] })
    await probe.committed({ ledger: [progress(later(row), 3)] })
    await probe.committed({ ledger: [progress(later(row, 2), 3)] })
    assert.equal((await probe.acquireOne(orders0)).unit, 3)
  },

  async 'acquire, acknowledgements and units of others leave the number as it is'(probe) {
    const [row0, row1] = await probe.acquire(orders0, orders1)
    assert.ok(row0 && row1)
    await probe.committed({ ledger: [progress(row0, 1, { outputs: [record('x')] })] })
    await probe.committed({ ledger: [progress(row1, 1)] })
    await probe.committed({ states: [change('k', 'v', 0)] })
    await probe.store.acknowledge(probe.service, [{ ...orders0, epoch: row0.epoch, unit: 1 }])
    const other = probe.renamed()
    await other.committed({ ledger: [progress(await other.acquireOne(orders0), 1)] })
    await probe.acquire(orders0)
    assert.equal((await probe.acquireOne(orders0)).unit, 1)
  },

  async 'an owner commits again and again under its epoch'(probe) {
    const row = await probe.acquireOne(orders0)
    for (let next = 1; next <= 12; next += 1) {
      await probe.committed({ ledger: [progress(later(row, next - 1), next)] })
    }
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, 12)
    assert.equal(again.unit, 12)
  },

  async 'a new owner goes on counting where the old one was'(probe) {
    const old = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(old, 1)] })
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 2)] })
    assert.equal((await probe.acquireOne(orders0)).unit, 2)
  },

  async 'a row is held by who knows its epoch and unit, and no other way'(probe) {
    const row = await probe.acquireOne(orders0)
    const { epoch } = row
    const holds = async (...rows: readonly HeldRow[]) =>
      await probe.store.holds(probe.service, rows)
    assert.deepEqual(await holds({ ...orders0, epoch, unit: 0 }), [true])
    await probe.committed({ ledger: [progress(row, 1)] })
    assert.deepEqual(
      await holds(
        { ...orders0, epoch, unit: 0 },
        { ...orders0, epoch, unit: 1 },
        { ...orders0, epoch, unit: 2 },
        { ...orders0, epoch: epoch - 1, unit: 1 },
        { ...orders0, epoch: epoch + 1, unit: 1 },
      ),
      [false, true, false, false, false],
    )
    const elsewhere = await probe.store.holds('another', [{ ...orders0, epoch, unit: 1 }])
    assert.deepEqual(elsewhere, [false])
  },

  async 'holds answers for each row in their order, missing ones and none included'(probe) {
    const [row0, row1] = await probe.acquire(orders0, orders1)
    assert.ok(row0 && row1)
    const unknown = { topic: 'unknown', partition: 0, epoch: row0.epoch, unit: 0 }
    const asked = [row1, unknown, { ...row0, unit: 7 }, row0]
    assert.deepEqual(await probe.store.holds(probe.service, asked), [true, false, false, true])
    assert.deepEqual(await probe.store.holds(probe.service, []), [])
    const [made] = await probe.acquire({ topic: 'unknown', partition: 0 })
    assert.equal(made?.next, undefined)
  },

  async 'services have ledgers of their own'(probe) {
    const other = probe.renamed()
    const ours = await probe.acquireOne(orders0)
    await other.acquireOne(orders0)
    const theirs = await other.acquireOne(orders0)
    await probe.committed({ ledger: [progress(ours, 7)] })
    await other.committed({ ledger: [progress(theirs, 2)] })
    assert.equal((await probe.acquireOne(orders0)).next, 7)
    assert.equal((await other.acquireOne(orders0)).next, 2)
  },

  async 'topics whose names and partitions run together are told apart'(probe) {
    const asked = [
      { topic: 'orders', partition: 11 },
      { topic: 'orders1', partition: 1 },
      { topic: 'orders-1', partition: 1 },
      { topic: 'orders.1', partition: 1 },
      { topic: 'orders_1', partition: 1 },
      { topic: 'Orders', partition: 11 },
    ]
    const rows = await probe.acquire(...asked)
    await probe.committed({ ledger: rows.map((row, index) => progress(row, index)) })
    assert.deepEqual(
      (await probe.acquire(...asked)).map(({ next }) => next),
      [0, 1, 2, 3, 4, 5],
    )
  },
}
