import assert from 'node:assert/strict'
import type { Mark, StateChange } from '../../ports/store.ts'
import { setScene } from './scene.ts'
import { change, mark, noState, type StoreTest, stateRow } from './store-probe.ts'

/** Changes in conflict where `k` is at version `current`, `gone` was removed and `noted` has a guard only. */
const stale: Readonly<Record<string, (current: number) => StateChange>> = {
  'a changed key': (current) => change('k', 'late', current - 1),
  'a version that was never given out': (current) => change('k', 'late', current + 1_000_000),
  'a key that is there already': () => change('k', 'late', 0),
  'removing a changed key': (current) => change('k', null, current - 1),
  'removing a key that was thought absent': () => change('k', null, 0),
  'a key that was removed meanwhile': () => change('gone', 'late', 1),
  'removing a key that was removed meanwhile': () => change('gone', null, 1),
  'a new guard for a changed key': (current) => change('k', null, current - 1, 'late'),
  'a key that has a guard and was thought absent': () => change('noted', 'late', 0),
  'removing a guard that was thought absent': () => change('noted', null, 0),
}

const marked: Readonly<Record<string, Mark>> = {
  'a mark that is there already': mark('m-there'),
  'a mark that is there with another place in the log': mark('m-there', {
    partition: 1,
    offset: 77,
  }),
}

// The bad one stands at each place of the unit, among keys and ids that lie on both sides of it.
const places = ['first', 'in the middle', 'last'] as const
type Place = (typeof places)[number]

function insert<T>(all: readonly T[], place: Place, bad: T): readonly T[] {
  const index = { first: 0, 'in the middle': 1, last: all.length }[place]
  return all.toSpliced(index, 0, bad)
}

function atEachPlace(
  cause: string,
  run: (...args: [...Parameters<StoreTest>, Place]) => Promise<void>,
): readonly (readonly [string, StoreTest])[] {
  return places.map((place) => [
    `${cause} is a conflict, and nothing is written (${place})`,
    (probe) => run(probe, place),
  ])
}

const stateConflicts = Object.entries(stale).flatMap(([cause, states]) =>
  atEachPlace(cause, async (probe, place) => {
    const [gone, noted] = await probe.committed({
      states: [change('gone', 'x', 0), change('noted', null, 0, 'old')],
    })
    await probe.put('gone', null, gone as number)
    const first = await probe.put('k', 'first', 0)
    const current = await probe.put('k', 'second', first)
    const { unit, before, look } = await setScene(probe)

    const spoilt = { ...unit, states: insert(unit.states, place, states(current)) }
    assert.deepEqual(await probe.commit(spoilt), { outcome: 'conflict' })

    assert.deepEqual(await look(), before)
    assert.deepEqual(await probe.load('k', 'gone', 'noted'), [
      stateRow('second', current),
      noState,
      stateRow(null, noted, 'old'),
    ])
  }),
)

const markConflicts = Object.entries(marked).flatMap(([cause, bad]) =>
  atEachPlace(cause, async (probe, place) => {
    const { unit, before, look } = await setScene(probe)
    const spoilt = { ...unit, marks: insert(unit.marks, place, bad) }
    assert.deepEqual(await probe.commit(spoilt), { outcome: 'conflict' })
    assert.deepEqual(await look(), before)
  }),
)

/** What keeps a unit from being committed, and that such a unit leaves no trace. */
export const conflictTests: Readonly<Record<string, StoreTest>> = {
  ...Object.fromEntries([...stateConflicts, ...markConflicts]),

  async 'a mark alone that is there already is a conflict'(probe) {
    await probe.committed({ marks: [mark('there')] })
    assert.deepEqual(await probe.commit({ marks: [mark('there')] }), { outcome: 'conflict' })
  },

  async 'a conflict ends: the unit computed from the current version is committed'(probe) {
    const version = await probe.put('k', 'a', 0)
    assert.deepEqual(await probe.commit({ states: [change('k', 'b', 0)] }), { outcome: 'conflict' })
    await probe.put('k', 'b', version)
    assert.equal((await probe.loadOne('k')).value?.toString(), 'b')
  },

  async 'a conflict ends: the unit without the mark that was there is committed'(probe) {
    const { unit, after, look } = await setScene(probe)
    const marks = [...unit.marks, mark('m-there')]
    assert.deepEqual(await probe.commit({ ...unit, marks }), { outcome: 'conflict' })
    const versions = await probe.committed(unit)
    assert.deepEqual(await look(), after(versions))
  },
}
