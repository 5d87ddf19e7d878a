import assert from 'node:assert/strict'
import { change, progress, type StoreProbe, type StoreTest } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }
const prices0 = { topic: 'prices', partition: 0 }

export const unitTests: Readonly<Record<string, StoreTest>> = {
  async 'a unit covers several keys and several partitions'(probe) {
    const [a, b, c] = await probe.acquire(orders0, orders1, prices0)
    assert.ok(a && b && c)
    const old = await probe.committed([change('removed', 'x', 0), change('changed', 'x', 0)])
    const versions = await probe.committed(
      [
        change('removed', null, old[0] as number),
        change('added', 'y', 0),
        change('changed', 'y', old[1] as number),
        change('never', null, 0),
      ],
      [progress(c, 30), progress(a, 10, [{ from: 11, to: 12 }]), progress(b, 20)],
    )
    assert.equal(versions[0], 0)
    assert.equal(versions[3], 0)
    assert.deepEqual(await probe.load('removed', 'added', 'changed', 'never'), [
      { value: null, version: 0 },
      { value: Buffer.from('y'), version: versions[1] },
      { value: Buffer.from('y'), version: versions[2] },
      { value: null, version: 0 },
    ])
    const rows = await probe.acquire(orders0, orders1, prices0)
    assert.deepEqual(
      rows.map(({ next }) => next),
      [10, 20, 30],
    )
  },

  async 'an empty unit is committed'(probe) {
    assert.deepEqual(await probe.committed([]), [])
  },

  'a changed key is a conflict, and nothing is written': (probe) =>
    conflicts(probe, (current) => [change('k', 'late', current - 1)]),

  'a key that is there already is a conflict, and nothing is written': (probe) =>
    conflicts(probe, () => [change('k', 'late', 0)]),

  'removing a changed key is a conflict, and nothing is written': (probe) =>
    conflicts(probe, (current) => [change('k', null, current - 1)]),

  'removing a key that was thought absent is a conflict, and nothing is written': (probe) =>
    conflicts(probe, () => [change('k', null, 0)]),

  'a key that was removed meanwhile is a conflict, and nothing is written': (probe) =>
    conflicts(probe, () => [change('gone', 'late', 1)]),

  'removing a key that was removed meanwhile is a conflict, and nothing is written': (probe) =>
    conflicts(probe, () => [change('gone', null, 1)]),

  async 'a conflict ends: the unit computed from the current version is committed'(probe) {
    const version = await probe.put('k', 'a', 0)
    assert.deepEqual(await probe.commit([change('k', 'b', 0)]), { outcome: 'conflict' })
    await probe.put('k', 'b', version)
    assert.equal((await probe.loadOne('k')).value?.toString(), 'b')
  },

  async 'a unit of 10,000 states is written, changed and removed'(probe) {
    const row = await probe.acquireOne(orders0)
    const keys = Array.from({ length: 10_000 }, (_, index) => `key-${(index * 7_919) % 10_000}`)
    const first = await probe.committed(
      keys.map((key) => change(key, `1 ${key}`, 0)),
      [progress(row, 10_000)],
    )
    assert.equal(new Set(first).size, keys.length, 'no version is given twice')
    const second = await probe.committed(
      keys.map((key, index) =>
        change(key, index % 2 === 0 ? `2 ${key}` : null, first[index] as number),
      ),
      [progress(row, 20_000)],
    )
    const rows = await probe.load(...keys)
    for (const [index, { value, version }] of rows.entries()) {
      assert.equal(value?.toString(), index % 2 === 0 ? `2 ${keys[index]}` : undefined)
      assert.equal(version, second[index])
    }
    assert.equal((await probe.acquireOne(orders0)).next, 20_000)
  },

  async 'of many commits at once from one version exactly one wins'(probe) {
    const version = await probe.put('k', 'start', 0)
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) => probe.commit([change('k', `${index}`, version)])),
    )
    const winners = results.flatMap(({ outcome }, index) =>
      outcome === 'committed' ? [index] : [],
    )
    assert.equal(winners.length, 1, 'one unit is committed')
    assert.equal((await probe.loadOne('k')).value?.toString(), `${winners[0]}`)
  },

  async 'of many commits at once that add one key exactly one wins'(probe) {
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) => probe.commit([change('k', `${index}`, 0)])),
    )
    assert.equal(results.filter(({ outcome }) => outcome === 'committed').length, 1)
    assert.equal(results.filter(({ outcome }) => outcome === 'conflict').length, 9)
  },

  async 'of many acquires at once only the one with the highest epoch can commit'(probe) {
    const rows = await Promise.all(Array.from({ length: 10 }, () => probe.acquireOne(orders0)))
    const epochs = rows.map(({ epoch }) => epoch)
    assert.equal(new Set(epochs).size, 10, 'no epoch is given twice')
    for (const row of rows) {
      const { outcome } = await probe.commit([], [progress(row, row.epoch)])
      assert.equal(outcome, row.epoch === Math.max(...epochs) ? 'committed' : 'fenced')
    }
  },
}

/** `states` must fail on a store where `k` is at its third version and `gone` was removed. */
async function conflicts(
  probe: StoreProbe,
  states: (current: number) => ReturnType<typeof change>[],
): Promise<void> {
  const row = await probe.acquireOne(orders0)
  const gone = await probe.put('gone', 'x', 0)
  await probe.put('gone', null, gone)
  const first = await probe.put('k', 'first', 0)
  const second = await probe.put('k', 'second', first)
  const current = await probe.put('k', 'third', second)
  const other = await probe.put('other', 'before', 0)
  await probe.committed([], [progress(row, 5)])

  // The good states stand on both sides of the bad one, in the unit's order and in that of the
  // keys.
  const unit = [
    change('a', 'x', 0),
    ...states(current),
    change('other', 'after', other),
    change('z', 'x', 0),
  ]
  assert.deepEqual(await probe.commit(unit, [progress(row, 9)]), { outcome: 'conflict' })

  assert.deepEqual(await probe.load('k', 'gone', 'other', 'a', 'z'), [
    { value: Buffer.from('third'), version: current },
    { value: null, version: 0 },
    { value: Buffer.from('before'), version: other },
    { value: null, version: 0 },
    { value: null, version: 0 },
  ])
  assert.equal((await probe.acquireOne(orders0)).next, 5)
}
