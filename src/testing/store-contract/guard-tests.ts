import assert from 'node:assert/strict'
import { change, noState, type StoreTest, stateRow } from './store-probe.ts'

/** What a service notes beside a value. */
export const guardTests: Readonly<Record<string, StoreTest>> = {
  async 'a guard is kept beside the value'(probe) {
    const [version] = await probe.committed({ states: [change('k', 'v', 0, '17')] })
    assert.deepEqual(await probe.loadOne('k'), stateRow('v', version, '17'))
  },

  async 'a guard is kept without a value, under a version of its own'(probe) {
    const [version] = await probe.committed({ states: [change('k', null, 0, '17')] })
    assert.ok(version !== undefined && version > 0, `${version} is above 0`)
    assert.deepEqual(await probe.loadOne('k'), stateRow(null, version, '17'))
  },

  async 'a guard stays when its value is removed'(probe) {
    const [first] = await probe.committed({ states: [change('k', 'v', 0, '1')] })
    const [second] = await probe.committed({ states: [change('k', null, first as number, '1')] })
    assert.ok((second as number) > (first as number), `${second} is above ${first}`)
    assert.deepEqual(await probe.loadOne('k'), stateRow(null, second, '1'))
  },

  async 'a value stays when its guard is removed'(probe) {
    const [first] = await probe.committed({ states: [change('k', 'v', 0, '1')] })
    const [second] = await probe.committed({ states: [change('k', 'v', first as number)] })
    assert.deepEqual(await probe.loadOne('k'), stateRow('v', second))
  },

  async 'a commit replaces the guard of before'(probe) {
    const [first] = await probe.committed({ states: [change('k', 'v', 0, '10')] })
    const [second] = await probe.committed({ states: [change('k', 'w', first as number, '9')] })
    assert.deepEqual(await probe.loadOne('k'), stateRow('w', second, '9'))
  },

  async 'a row without value and without guard is gone, whichever of them went last'(probe) {
    const [guarded, valued, both] = await probe.committed({
      states: [
        change('guarded', null, 0, '1'),
        change('valued', 'v', 0),
        change('both', 'v', 0, '1'),
      ],
    })
    const versions = await probe.committed({
      states: [
        change('guarded', null, guarded as number),
        change('valued', null, valued as number),
        change('both', null, both as number),
      ],
    })
    assert.deepEqual(versions, [0, 0, 0])
    assert.deepEqual(await probe.load('guarded', 'valued', 'both'), [noState, noState, noState])
    await probe.put('guarded', 'new', 0)
  },

  async 'versions do not restart when a guard that was gone comes back'(probe) {
    const [first] = await probe.committed({ states: [change('k', null, 0, '1')] })
    await probe.put('k', null, first as number)
    const [second] = await probe.committed({ states: [change('k', null, 0, '2')] })
    assert.ok((second as number) > (first as number), `${second} is above ${first}`)
    const late = { states: [change('k', 'late', first as number)] }
    assert.deepEqual(await probe.commit(late), { outcome: 'conflict' })
    assert.deepEqual(await probe.loadOne('k'), stateRow(null, second, '2'))
  },

  async 'an empty guard is a guard, not its absence'(probe) {
    const [version] = await probe.committed({ states: [change('k', null, 0, '')] })
    assert.deepEqual(await probe.loadOne('k'), stateRow(null, version, ''))
  },

  async 'guards are exact texts'(probe) {
    const texts = [
      'null',
      'NULL',
      ' ',
      '1 ',
      '01',
      '1e3',
      "'",
      '"',
      '\\',
      '{a,b}',
      '\\x00',
      'é',
      'e\u0301',
      '\u{1f9f2}',
      'g'.repeat(1_000),
    ]
    await probe.committed({
      states: texts.map((guard, index) => change(`${index}`, null, 0, guard)),
    })
    const rows = await probe.load(...texts.keys().map((index) => `${index}`))
    assert.deepEqual(
      rows.map(({ guard }) => guard),
      texts,
    )
  },

  async 'guards come in the order of the keys asked for'(probe) {
    await probe.committed({
      states: [change('b', 'v', 0, 'of b'), change('a', 'v', 0), change('c', null, 0, 'of c')],
    })
    const rows = await probe.load('c', 'a', 'unknown', 'b', 'c')
    assert.deepEqual(
      rows.map(({ guard }) => guard),
      ['of c', null, null, 'of b', 'of c'],
    )
  },

  async 'services have guards of their own'(probe) {
    const other = probe.renamed()
    const [ours] = await probe.committed({ states: [change('k', null, 0, 'ours')] })
    await other.committed({ states: [change('k', 'v', 0, 'theirs')] })
    assert.deepEqual(await probe.loadOne('k'), stateRow(null, ours, 'ours'))
  },
}
