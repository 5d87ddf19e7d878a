import assert from 'node:assert/strict'
import {
  change,
  later,
  mark,
  outputsOf,
  progress,
  record,
  type StoreProbe,
  type StoreTest,
  type UnitParts,
} from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }

/** Commits all at once, and gives the outcomes in their order. */
async function outcomes(probe: StoreProbe, units: readonly UnitParts[]): Promise<string[]> {
  const results = await Promise.all(units.map((unit) => probe.commit(unit)))
  return results.map(({ outcome }) => outcome)
}

function count(all: readonly string[], outcome: string): number {
  return all.filter((one) => one === outcome).length
}

/** Several calls of one store at once. */
export const atOnceTests: Readonly<Record<string, StoreTest>> = {
  async 'of many commits at once from one version exactly one wins'(probe) {
    const version = await probe.put('k', 'start', 0)
    const all = await outcomes(
      probe,
      Array.from({ length: 10 }, (_, index) => ({ states: [change('k', `${index}`, version)] })),
    )
    assert.equal(count(all, 'committed'), 1)
    assert.equal(count(all, 'conflict'), 9)
    assert.equal((await probe.loadOne('k')).value?.toString(), `${all.indexOf('committed')}`)
  },

  async 'of many commits at once that add one key exactly one wins'(probe) {
    const all = await outcomes(
      probe,
      Array.from({ length: 10 }, (_, index) => ({ states: [change('k', `${index}`, 0)] })),
    )
    assert.equal(count(all, 'committed'), 1)
    assert.equal(count(all, 'conflict'), 9)
  },

  async 'of many commits at once of one mark exactly one wins, and it alone is written'(probe) {
    const rows = await probe.acquire(
      ...Array.from({ length: 10 }, (_, partition) => ({ topic: 'orders', partition })),
    )
    const all = await outcomes(
      probe,
      rows.map((row) => ({
        marks: [mark('contested'), mark(`of ${row.partition}`)],
        states: [change(`${row.partition}`, 'v', 0)],
        ledger: [progress(row, 1, { outputs: [record('x')] })],
      })),
    )
    assert.equal(count(all, 'committed'), 1)
    assert.equal(count(all, 'conflict'), 9)
    const won = all.map((outcome) => outcome === 'committed')
    assert.deepEqual(await probe.applied(...rows.map((_, index) => mark(`of ${index}`))), won)
    const states = await probe.load(...rows.map((_, index) => `${index}`))
    assert.deepEqual(
      states.map(({ value }) => value !== null),
      won,
    )
    const again = await probe.acquire(...rows)
    assert.deepEqual(
      again.map(({ unit, unpublished }) => unit === 1 && unpublished.length === 1),
      won,
    )
  },

  async 'of many units at once under one number exactly one is committed'(probe) {
    const row = await probe.acquireOne(orders0)
    const all = await outcomes(
      probe,
      Array.from({ length: 10 }, (_, index) => ({
        states: [change(`${index}`, 'v', 0)],
        ledger: [progress(row, index, { outputs: [record(`${index}`)] })],
      })),
    )
    const winner = all.indexOf('committed')
    assert.equal(count(all, 'committed'), 1)
    assert.equal(count(all, 'fenced'), 9)
    const again = await probe.acquireOne(orders0)
    assert.equal(again.unit, 1)
    assert.equal(again.next, winner)
    assert.deepEqual(outputsOf(again), [[1, [`${winner}`]]])
    const states = await probe.load(...all.keys().map((index) => `${index}`))
    assert.equal(states.filter(({ value }) => value !== null).length, 1)
  },

  async 'of many acquires at once only the one with the highest epoch can commit'(probe) {
    const rows = await Promise.all(Array.from({ length: 10 }, () => probe.acquireOne(orders0)))
    const epochs = rows.map(({ epoch }) => epoch)
    assert.equal(new Set(epochs).size, 10, 'no epoch is given twice')
    for (const row of rows) {
      const { outcome } = await probe.commit({ ledger: [progress(row, row.epoch)] })
      assert.equal(outcome, row.epoch === Math.max(...epochs) ? 'committed' : 'fenced')
    }
  },

  async 'units of different partitions at once are all committed'(probe) {
    const rows = await probe.acquire(
      ...Array.from({ length: 8 }, (_, partition) => ({ topic: 'orders', partition })),
    )
    for (let round = 0; round < 5; round += 1) {
      const all = await outcomes(
        probe,
        rows.map((row) => ({
          marks: [mark(`${row.partition} ${round}`)],
          states: [change(`${row.partition} ${round}`, 'v', 0)],
          ledger: [progress(later(row, round), round, { outputs: [record('x')] })],
        })),
      )
      assert.equal(count(all, 'committed'), rows.length)
    }
    const again = await probe.acquire(...rows)
    assert.deepEqual(
      again.map(({ unit, unpublished }) => [unit, unpublished.length]),
      rows.map(() => [5, 5]),
    )
  },

  async 'calls of every kind at once are all answered'(probe) {
    const { store, service } = probe
    const rows = await probe.acquire(
      ...Array.from({ length: 5 }, (_, partition) => ({ topic: 'orders', partition })),
    )
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(
        rows.flatMap((row) => [
          probe.committed({
            marks: [mark(`${row.partition} ${round}`)],
            ledger: [progress(later(row, round), round + 1, { outputs: [record('x')] })],
          }),
          store.acknowledge(service, [{ ...row, unit: round }]),
          probe.load('k'),
          probe.acquire({ topic: 'other', partition: row.partition }),
          store.unpublished(service, 0),
          store.forget(service, 3_600_000),
        ]),
      )
    }
    const units = (await probe.acquire(...rows)).map(outputsOf)
    // The last round acknowledged what was stored before it, whichever of both came first.
    assert.deepEqual(
      units,
      rows.map(() => [[5, ['x']]]),
    )
  },
}
