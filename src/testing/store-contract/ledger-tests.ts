import assert from 'node:assert/strict'
import { change, progress, type StoreTest } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }

export const ledgerTests: Readonly<Record<string, StoreTest>> = {
  async 'a partition that was never worked on has no next offset'(probe) {
    const row = await probe.acquireOne(orders0)
    assert.equal(row.topic, 'orders')
    assert.equal(row.partition, 0)
    assert.equal(row.next, undefined)
    assert.deepEqual(row.settled, [])
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
    await probe.committed([], [progress(again, 3)])
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

  async 'acquire leaves other partitions to their owners'(probe) {
    const [row0] = await probe.acquire(orders0, orders1)
    await probe.acquire(orders1)
    assert.ok(row0)
    await probe.committed([], [progress(row0, 1)])
  },

  async 'next and settled ranges come back as they were committed'(probe) {
    const row = await probe.acquireOne(orders0)
    const settled = [
      { from: 12, to: 13 },
      { from: 15, to: 40 },
      { from: 1_000_000, to: 1_000_002 },
    ]
    await probe.committed([], [progress(row, 10, settled)])
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, 10)
    assert.deepEqual(again.settled, settled)
  },

  async 'a commit replaces the settled ranges of before'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed([], [progress(row, 0, [{ from: 1, to: 3 }])])
    await probe.committed([], [progress(row, 3)])
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, 3)
    assert.deepEqual(again.settled, [])
  },

  async 'next may be 0, which is not the same as none'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed([], [progress(row, 0)])
    assert.equal((await probe.acquireOne(orders0)).next, 0)
  },

  async 'offsets up to 2^53 - 1 are kept exactly'(probe) {
    const row = await probe.acquireOne(orders0)
    const top = Number.MAX_SAFE_INTEGER
    await probe.committed([], [progress(row, top - 10, [{ from: top - 4, to: top }])])
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, top - 10)
    assert.deepEqual(again.settled, [{ from: top - 4, to: top }])
  },

  async 'an owner commits again and again under its epoch'(probe) {
    const row = await probe.acquireOne(orders0)
    for (let next = 1; next <= 5; next += 1) await probe.committed([], [progress(row, next)])
    assert.equal((await probe.acquireOne(orders0)).next, 5)
  },

  async 'an older epoch is fenced and nothing of its unit is written'(probe) {
    const old = await probe.acquireOne(orders0)
    await probe.committed([change('kept', 'before', 0)], [progress(old, 5, [{ from: 7, to: 8 }])])
    const kept = await probe.loadOne('kept')
    await probe.acquireOne(orders0)
    const result = await probe.commit(
      [change('kept', 'after', kept.version), change('new', 'x', 0)],
      [progress(old, 9)],
    )
    assert.deepEqual(result, { outcome: 'fenced' })
    const rows = await probe.load('kept', 'new')
    assert.deepEqual(rows, [kept, { value: null, version: 0 }])
    const row = await probe.acquireOne(orders0)
    assert.equal(row.next, 5)
    assert.deepEqual(row.settled, [{ from: 7, to: 8 }])
  },

  async 'one fenced partition fences the whole unit'(probe) {
    const [row0, row1] = await probe.acquire(orders0, orders1)
    assert.ok(row0 && row1)
    await probe.acquire(orders1)
    const result = await probe.commit([change('k', 'v', 0)], [progress(row0, 3), progress(row1, 3)])
    assert.deepEqual(result, { outcome: 'fenced' })
    assert.equal((await probe.acquireOne(orders0)).next, undefined)
    assert.equal((await probe.loadOne('k')).value, null)
  },

  async 'a partition that nobody acquired is fenced'(probe) {
    const change = { ...orders0, epoch: 1, next: 1, settled: [] }
    assert.deepEqual(await probe.commit([], [change]), { outcome: 'fenced' })
  },

  async 'an epoch that was never given out is fenced'(probe) {
    const row = await probe.acquireOne(orders0)
    const change = { ...progress(row, 1), epoch: row.epoch + 1 }
    assert.deepEqual(await probe.commit([], [change]), { outcome: 'fenced' })
  },

  async 'a unit that is fenced and in conflict counts as fenced'(probe) {
    const old = await probe.acquireOne(orders0)
    await probe.acquireOne(orders0)
    const result = await probe.commit([change('k', 'v', 99)], [progress(old, 1)])
    assert.deepEqual(result, { outcome: 'fenced' })
  },

  async 'services have ledgers of their own'(probe) {
    const other = probe.renamed()
    const ours = await probe.acquireOne(orders0)
    await other.acquireOne(orders0)
    const theirs = await other.acquireOne(orders0)
    await probe.committed([], [progress(ours, 7)])
    await other.committed([], [progress(theirs, 2)])
    assert.equal((await probe.acquireOne(orders0)).next, 7)
    assert.equal((await other.acquireOne(orders0)).next, 2)
  },
}
