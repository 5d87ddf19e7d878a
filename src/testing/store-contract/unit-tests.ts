import assert from 'node:assert/strict'
import { setScene } from './scene.ts'
import {
  change,
  later,
  mark,
  noState,
  progress,
  record,
  type StoreTest,
  stateRow,
} from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }
const prices0 = { topic: 'prices', partition: 0 }

/** What one unit covers. */
export const unitTests: Readonly<Record<string, StoreTest>> = {
  async 'a unit covers marks, states, progress, outputs and acknowledgements'(probe) {
    const { unit, before, after, look } = await setScene(probe)
    const versions = await probe.committed(unit)
    const seen = await look()
    assert.deepEqual(seen, after(versions))
    // Otherwise the tests that nothing is written would prove little.
    for (const kind of Object.keys(before)) assert.notDeepEqual(seen[kind], before[kind], kind)
  },

  async 'a unit covers several keys and several partitions'(probe) {
    const [a, b, c] = await probe.acquire(orders0, orders1, prices0)
    assert.ok(a && b && c)
    const old = await probe.committed({
      states: [change('removed', 'x', 0), change('changed', 'x', 0)],
    })
    const versions = await probe.committed({
      states: [
        change('removed', null, old[0] as number),
        change('added', 'y', 0),
        change('changed', 'y', old[1] as number),
        change('never', null, 0),
      ],
      ledger: [
        progress(c, 30),
        progress(a, 10, { settled: [{ from: 11, to: 12 }] }),
        progress(b, 20),
      ],
    })
    assert.equal(versions[0], 0)
    assert.equal(versions[3], 0)
    assert.deepEqual(await probe.load('removed', 'added', 'changed', 'never'), [
      noState,
      stateRow('y', versions[1]),
      stateRow('y', versions[2]),
      noState,
    ])
    const rows = await probe.acquire(orders0, orders1, prices0)
    assert.deepEqual(
      rows.map(({ next }) => next),
      [10, 20, 30],
    )
  },

  async 'an empty unit is committed'(probe) {
    assert.deepEqual(await probe.committed({}), [])
  },

  async 'a unit may have marks alone, states alone or progress alone'(probe) {
    const row = await probe.acquireOne(orders0)
    assert.deepEqual(await probe.committed({ marks: [mark('a')] }), [])
    const [version] = await probe.committed({ states: [change('k', 'v', 0)] })
    assert.deepEqual(await probe.committed({ ledger: [progress(row, 1)] }), [])
    assert.deepEqual(await probe.applied(mark('a')), [true])
    assert.deepEqual(await probe.loadOne('k'), stateRow('v', version))
    assert.equal((await probe.acquireOne(orders0)).next, 1)
  },

  async 'a unit of 10,000 states is written, changed and removed'(probe) {
    const row = await probe.acquireOne(orders0)
    const keys = Array.from({ length: 10_000 }, (_, index) => `key-${(index * 7_919) % 10_000}`)
    const first = await probe.committed({
      states: keys.map((key) => change(key, `1 ${key}`, 0)),
      ledger: [progress(row, 10_000)],
    })
    const second = await probe.committed({
      states: keys.map((key, index) =>
        change(key, index % 2 === 0 ? `2 ${key}` : null, first[index] as number),
      ),
      ledger: [progress(later(row), 20_000)],
    })
    const rows = await probe.load(...keys)
    for (const [index, { value, version }] of rows.entries()) {
      assert.equal(value?.toString(), index % 2 === 0 ? `2 ${keys[index]}` : undefined)
      assert.equal(version, second[index])
    }
    assert.equal((await probe.acquireOne(orders0)).next, 20_000)
  },

  async 'a unit of 2,000 marks, states and outputs each is written, or none of it'(probe) {
    const numbers = Array.from({ length: 2_000 }, (_, index) => (index * 7_919) % 2_000)
    const row = await probe.acquireOne(orders0)
    const marks = numbers.map((offset) => mark(`id-${offset}`, { offset }))
    const states = numbers.map((number) => change(`key-${number}`, `${number}`, 0, `${number}`))
    const outputs = numbers.map((number) => record(`${number}`))
    const unit = { marks, states, ledger: [progress(row, 2_000, { outputs })] }

    await probe.committed({ marks: [mark('there')] })
    const spoilt = { ...unit, marks: marks.toSpliced(1_000, 0, mark('there')) }
    assert.deepEqual(await probe.commit(spoilt), { outcome: 'conflict' })
    assert.ok(!(await probe.applied(...marks)).some(Boolean))

    const versions = await probe.committed(unit)
    const loaded = await probe.store.load(
      probe.service,
      states.map(({ key }) => key),
      marks,
    )
    assert.ok(loaded.applied.every(Boolean))
    const [stored] = (await probe.acquireOne(orders0)).unpublished
    assert.equal(stored?.unit, 1)
    assert.equal(stored.records.length, outputs.length)
    // One by one: to print the difference of thousands takes minutes.
    for (const [index, number] of numbers.entries()) {
      const row = stateRow(`${number}`, versions[index], `${number}`)
      assert.deepEqual(loaded.states[index], row)
      assert.deepEqual(stored.records[index], outputs[index])
    }
  },

  async 'a unit covers 200 partitions'(probe) {
    const asked = Array.from({ length: 200 }, (_, partition) => ({ topic: 'orders', partition }))
    const rows = await probe.acquire(...asked.toReversed())
    await probe.committed({
      ledger: rows.map((row) =>
        progress(row, row.partition, { outputs: [record(`${row.partition}`)] }),
      ),
    })
    const again = await probe.acquire(...asked)
    assert.deepEqual(
      again.map(({ next }) => next),
      asked.map(({ partition }) => partition),
    )
    assert.ok(again.every(({ unit }) => unit === 1))
    await probe.store.acknowledge(
      probe.service,
      again.map(({ topic, partition, epoch, unit }) => ({ topic, partition, epoch, unit })),
    )
    assert.ok((await probe.acquire(...asked)).every(({ unpublished }) => unpublished.length === 0))
  },
}
