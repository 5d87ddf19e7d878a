import assert from 'node:assert/strict'
import type { Mark } from '../../ports/store.ts'
import { type AgingTest, forgetAll, hour } from './aging.ts'
import {
  change,
  later,
  mark,
  outputsOf,
  progress,
  record,
  type StoreProbe,
  stateRow,
} from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }
const prices0 = { topic: 'prices', partition: 0 }

/** Commits marks with a ledger that has passed them all, unless `next` is said. */
async function markAndPass(probe: StoreProbe, marks: readonly Mark[], next = 1_000): Promise<void> {
  const row = await probe.acquireOne(orders0)
  await probe.committed({ marks, ledger: [progress(row, next)] })
}

function numbered(count: number): readonly Mark[] {
  return Array.from({ length: count }, (_, offset) => {
    // Of the full length, so that a slice takes a small part of them.
    const id = Buffer.alloc(256)
    id.writeUInt32BE((offset * 2_654_435_761) >>> 0)
    return mark(id, { offset })
  })
}

/** Expects of many marks that those are left, and no others. */
async function assertLeft(
  probe: StoreProbe,
  marks: readonly Mark[],
  isLeft: (mark: Mark) => boolean,
): Promise<void> {
  const known = await probe.applied(...marks)
  const wrong = marks.filter((mark, index) => known[index] !== isLeft(mark))
  // A few will do: to print the difference of thousands takes minutes.
  assert.deepEqual(wrong.map(({ offset }) => offset).slice(0, 10), [])
}

/** Which marks may be forgotten, and that the others never are. */
export const forgetTests: Readonly<Record<string, AgingTest>> = {
  async 'marks older than the window and below next are forgotten'(probe, age) {
    await markAndPass(probe, [mark('a'), mark('b', { offset: 999 })])
    await age(2 * hour)
    await forgetAll(probe, hour)
    assert.deepEqual(await probe.applied(mark('a'), mark('b')), [false, false])
    await probe.committed({ marks: [mark('a', { offset: 2_000 })] })
  },

  async 'marks inside the window stay'(probe, age) {
    await markAndPass(probe, [mark('a')])
    await age(hour)
    await forgetAll(probe, 2 * hour)
    assert.deepEqual(await probe.applied(mark('a')), [true])
  },

  async 'of young and old marks the old ones alone are forgotten'(probe, age) {
    await markAndPass(probe, [mark('oldest'), mark('older', { offset: 1 })])
    await age(2 * hour)
    await markAndPass(probe, [mark('young', { offset: 2 })])
    await age(2 * hour)
    await markAndPass(probe, [mark('youngest', { offset: 3 })])
    await forgetAll(probe, 3 * hour)
    const asked = ['oldest', 'older', 'young', 'youngest'].map((id) => mark(id))
    assert.deepEqual(await probe.applied(...asked), [false, false, true, true])
    await forgetAll(probe, hour)
    assert.deepEqual(await probe.applied(...asked), [false, false, false, true])
  },

  async 'marks at next and above it stay, however old they are'(probe, age) {
    const offsets = [0, 49, 50, 51, 60, 61, 1_000]
    const marks = offsets.map((offset) => mark(`${offset}`, { offset }))
    const row = await probe.acquireOne(orders0)
    // 60 and 61 are settled, but the ledger has not passed them.
    await probe.committed({
      marks,
      ledger: [progress(row, 50, { settled: [{ from: 60, to: 62 }] })],
    })
    await age(1_000 * hour)
    await forgetAll(probe, hour)
    assert.deepEqual(await probe.applied(...marks), [false, false, true, true, true, true, true])
  },

  async 'marks are forgotten in a later pass, when the ledger has passed them'(probe, age) {
    await markAndPass(probe, [mark('a', { offset: 10 })], 10)
    await age(2 * hour)
    await forgetAll(probe, hour)
    assert.deepEqual(await probe.applied(mark('a')), [true])
    await markAndPass(probe, [], 11)
    await forgetAll(probe, hour)
    assert.deepEqual(await probe.applied(mark('a')), [false])
  },

  async 'marks of a partition without progress stay'(probe, age) {
    await probe.acquire(orders1)
    const marks = [
      mark('acquired', { partition: 1 }),
      mark('never acquired', { partition: 2 }),
      mark('other topic', { topic: 'prices' }),
    ]
    await probe.committed({ marks })
    await markAndPass(probe, [mark('a')])
    await age(2 * hour)
    await forgetAll(probe, hour)
    const known = await probe.applied(...marks, mark('a'))
    assert.deepEqual(known, [true, true, true, false])
  },

  async 'each mark is measured by its own partition'(probe, age) {
    const rows = await probe.acquire(orders0, orders1, prices0)
    const marks = [orders0, orders1, prices0].map((partition) =>
      mark('a'.repeat(1 + partition.partition), { ...partition, offset: 10 }),
    )
    const nexts = [11, 10, 5]
    await probe.committed({
      marks,
      ledger: rows.map((row, index) => progress(row, nexts[index] as number)),
    })
    await age(2 * hour)
    await forgetAll(probe, hour)
    assert.deepEqual(await probe.applied(...marks), [false, true, true])
  },

  async 'marks of other services stay, and their ledgers do not count'(probe, age) {
    const other = probe.renamed()
    await markAndPass(other, [mark('a', { offset: 10 })], 1_000)
    await markAndPass(probe, [mark('a', { offset: 10 })], 10)
    await age(2 * hour)
    await forgetAll(probe, hour)
    assert.deepEqual(await probe.applied(mark('a')), [true])
    assert.deepEqual(await other.applied(mark('a')), [true])
    await forgetAll(other, hour)
    assert.deepEqual(await probe.applied(mark('a')), [true])
    assert.deepEqual(await other.applied(mark('a')), [false])
  },

  async 'forgetting leaves ledger, state and outputs as they are'(probe, age) {
    const row = await probe.acquireOne(orders0)
    const [version] = await probe.committed({
      marks: [mark('a')],
      states: [change('k', 'v', 0, 'g')],
      ledger: [progress(row, 5, { settled: [{ from: 7, to: 8 }], outputs: [record('x')] })],
    })
    await age(2 * hour)
    await forgetAll(probe, hour)
    assert.deepEqual(await probe.loadOne('k'), stateRow('v', version, 'g'))
    await probe.committed({ ledger: [progress(later(row), 6)] })
    const again = await probe.acquireOne(orders0)
    assert.equal(again.next, 6)
    assert.deepEqual(outputsOf(again), [[1, ['x']]])
  },

  async 'forgetting what is not there ends'(probe) {
    await forgetAll(probe, hour)
    await forgetAll(probe, hour)
  },

  async 'slice by slice all of a large set is forgotten, and nothing else'(probe, age) {
    const marks = numbered(10_000)
    const young = Array.from({ length: 100 }, (_, index) => mark(`young ${index}`))
    await markAndPass(probe, marks, 9_900)
    await age(2 * hour)
    await markAndPass(probe, young, 9_900)
    await forgetAll(probe, hour)
    await assertLeft(probe, marks, ({ offset }) => offset >= 9_900)
    await assertLeft(probe, young, () => true)
  },

  async 'marks that are committed between slices stay, and each pass ends'(probe, age) {
    await markAndPass(probe, numbered(5_000), 5_000)
    await age(2 * hour)
    let added = 0
    while (await probe.store.forget(probe.service, hour)) {
      await probe.committed({ marks: [mark(`new ${added}`)] })
      added += 1
      assert.ok(added < 100_000, 'forget should say at some time that its pass is complete')
    }
    const young = Array.from({ length: added }, (_, index) => mark(`new ${index}`))
    await assertLeft(probe, young, () => true)
    await forgetAll(probe, hour)
    await assertLeft(probe, young, () => true)
    await assertLeft(probe, numbered(5_000), () => false)
  },

  async 'passes that run at once forget no more than one'(probe, age) {
    const marks = numbered(3_000)
    await markAndPass(probe, marks, 2_000)
    await age(2 * hour)
    await Promise.all([1, 2, 3].map(() => forgetAll(probe, hour)))
    await forgetAll(probe, hour)
    await assertLeft(probe, marks, ({ offset }) => offset >= 2_000)
  },
}
