import assert from 'node:assert/strict'
import type { LedgerChange } from '../../ports/store.ts'
import { setScene } from './scene.ts'
import { change, later, mark, outputsOf, progress, record, type StoreTest } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }

// What makes the change of one partition a stranger's.
const strangers: Readonly<Record<string, (change: LedgerChange) => LedgerChange>> = {
  'an older epoch': (change) => ({ ...change, epoch: change.epoch - 1 }),
  'an epoch that was never given out': (change) => ({ ...change, epoch: change.epoch + 1 }),
  'an older unit number': (change) => ({ ...change, unit: change.unit - 1 }),
  'a unit number that is not reached yet': (change) => ({ ...change, unit: change.unit + 1 }),
  'a partition that nobody acquired': (change) => ({ ...change, partition: 99 }),
  'a topic that nobody acquired': (change) => ({ ...change, topic: change.topic.toUpperCase() }),
}

function nothingIsWritten(
  title: string,
  spoil: (change: LedgerChange) => LedgerChange,
): readonly (readonly [string, StoreTest])[] {
  return (['first', 'last'] as const).map((place) => [
    `${title} is fenced and nothing of its unit is written (${place} partition)`,
    async (probe) => {
      const { unit, before, look } = await setScene(probe)
      const spoilt = place === 'first' ? 0 : unit.ledger.length - 1
      const ledger = unit.ledger.map((one, index) => (index === spoilt ? spoil(one) : one))
      assert.deepEqual(await probe.commit({ ...unit, ledger }), { outcome: 'fenced' })
      assert.deepEqual(await look(), before)
    },
  ])
}

/** Who may not commit, and that such a unit leaves no trace. */
export const fenceTests: Readonly<Record<string, StoreTest>> = {
  ...Object.fromEntries(
    Object.entries(strangers).flatMap(([title, spoil]) => nothingIsWritten(title, spoil)),
  ),

  async 'a unit that is repeated after it was committed is fenced, and not written twice'(probe) {
    const { unit, after, look } = await setScene(probe)
    const versions = await probe.committed(unit)
    assert.deepEqual(await probe.commit(unit), { outcome: 'fenced' })
    assert.deepEqual(await probe.commit(unit), { outcome: 'fenced' })
    assert.deepEqual(await look(), after(versions))
  },

  async 'a repeated unit of progress alone is fenced'(probe) {
    const row = await probe.acquireOne(orders0)
    const unit = { ledger: [progress(row, 1, { outputs: [record('once')] })] }
    await probe.committed(unit)
    assert.deepEqual(await probe.commit(unit), { outcome: 'fenced' })
    const again = await probe.acquireOne(orders0)
    assert.equal(again.unit, 1)
    assert.deepEqual(outputsOf(again), [[1, ['once']]])
  },

  async 'an owner that was fenced for its number goes on under the right one'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1)] })
    assert.deepEqual(await probe.commit({ ledger: [progress(row, 2)] }), { outcome: 'fenced' })
    await probe.committed({ ledger: [progress(later(row), 2)] })
    assert.equal((await probe.acquireOne(orders0)).next, 2)
  },

  async 'a unit that is fenced and in conflict counts as fenced'(probe) {
    const old = await probe.acquireOne(orders0)
    await probe.committed({ marks: [mark('there')], ledger: [progress(old, 1)] })
    await probe.acquireOne(orders0)
    const states = [change('k', 'v', 99)]
    const late = [progress(later(old), 2)]
    for (const unit of [
      { states },
      { marks: [mark('there')] },
      { states, marks: [mark('there')] },
    ]) {
      assert.deepEqual(await probe.commit({ ...unit, ledger: late }), { outcome: 'fenced' })
    }
  },

  async 'the partition of another service does not count'(probe) {
    const other = probe.renamed()
    const theirs = await other.acquireOne(orders0)
    assert.deepEqual(await probe.commit({ ledger: [progress(theirs, 1)] }), { outcome: 'fenced' })
    assert.equal((await probe.acquireOne(orders0)).next, undefined)
    assert.equal((await other.acquireOne(orders0)).next, undefined)
  },
}
