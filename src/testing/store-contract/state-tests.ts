import assert from 'node:assert/strict'
import { change, noState, type StoreTest, stateRow } from './store-probe.ts'

const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

/** The value that is kept for a key, and its version. */
export const stateTests: Readonly<Record<string, StoreTest>> = {
  async 'a key without state has no value and version 0'(probe) {
    assert.deepEqual(await probe.load('a', 'b'), [noState, noState])
  },

  async 'load of no keys gives nothing'(probe) {
    assert.deepEqual(await probe.load(), [])
  },

  async 'load gives rows in the order of the keys, unknown and repeated ones too'(probe) {
    await probe.committed({ states: [change('b', 'two', 0), change('a', 'one', 0)] })
    const rows = await probe.load('b', 'unknown', 'a', 'b')
    assert.deepEqual(
      rows.map(({ value }) => value?.toString()),
      ['two', undefined, 'one', 'two'],
    )
  },

  async 'the version of a commit is the one that load gives'(probe) {
    const version = await probe.put('k', 'v', 0)
    assert.ok(version > 0, `${version} is above 0`)
    assert.deepEqual(await probe.loadOne('k'), stateRow('v', version))
  },

  async 'each commit of a key gives a higher version'(probe) {
    const first = await probe.put('k', 'a', 0)
    const second = await probe.put('k', 'b', first)
    const third = await probe.put('k', 'b', second)
    assert.ok(second > first && third > second, `${first} < ${second} < ${third}`)
  },

  async 'versions come in the order of the states, whatever order their keys have'(probe) {
    const keys = ['m', 'z', 'a', 'k']
    const versions = await probe.committed({ states: keys.map((key) => change(key, key, 0)) })
    const rows = await probe.load(...keys)
    assert.deepEqual(
      rows.map(({ version }) => version),
      versions,
    )
    assert.deepEqual(
      rows.map(({ value }) => value?.toString()),
      keys,
    )
  },

  async 'keys and values are bytes, all 256 of them'(probe) {
    const version = await probe.put(allBytes, allBytes, 0)
    assert.deepEqual(await probe.loadOne(allBytes), stateRow(allBytes, version))
  },

  async 'bytes that are not UTF-8, and zero bytes, are kept and told apart'(probe) {
    // Read as UTF-8, the first two would be the same text.
    const keys = [
      [0xff, 0xc3, 0x28],
      [0xfe, 0xc3, 0x28],
      [0xff, 0x00],
      [0x00, 0xff],
    ].map((key) => Buffer.from(key))
    await probe.committed({ states: keys.map((key) => change(key, key, 0)) })
    const rows = await probe.load(...keys)
    assert.deepEqual(
      rows.map(({ value }) => value),
      keys,
    )
  },

  async 'texts that mean something in SQL are only bytes'(probe) {
    const odd = ['NULL', '"', "'", '\\', '{a,b}', '\\x00', "'; drop table pollux_state; --", ' ']
    await probe.committed({ states: odd.map((text) => change(text, text, 0)) })
    const rows = await probe.load(...odd)
    assert.deepEqual(
      rows.map(({ value }) => value?.toString()),
      odd,
    )
  },

  async 'an empty key is a key'(probe) {
    const version = await probe.put('', 'v', 0)
    assert.deepEqual(await probe.loadOne(''), stateRow('v', version))
  },

  async 'an empty value is state, not its absence'(probe) {
    const version = await probe.put('k', '', 0)
    assert.ok(version > 0)
    assert.deepEqual(await probe.loadOne('k'), stateRow('', version))
  },

  async 'keys that differ in case, accents or trailing bytes are different keys'(probe) {
    const keys = ['key', 'KEY', 'key ', 'key\0', 'ke', 'kéy', 'ke\u0301y', '\0key'].map((text) =>
      Buffer.from(text),
    )
    await probe.committed({ states: keys.map((key) => change(key, key, 0)) })
    const rows = await probe.load(...keys)
    assert.deepEqual(
      rows.map(({ value }) => value),
      keys,
    )
  },

  async 'a large key and a large value are kept'(probe) {
    const key = Buffer.alloc(1_000, 0xab)
    // Not compressible, so that no store gets away with a small row.
    const value = Buffer.from(
      Array.from({ length: 300_000 }, (_, place) => (place * 2_654_435_761) >>> 24),
    )
    await probe.put(key, value, 0)
    assert.ok((await probe.loadOne(key)).value?.equals(value))
  },

  async 'a removed key has no value and version 0'(probe) {
    const version = await probe.put('k', 'v', 0)
    assert.equal(await probe.put('k', null, version), 0)
    assert.deepEqual(await probe.loadOne('k'), noState)
  },

  async 'versions do not restart when a removed key comes back'(probe) {
    const first = await probe.put('k', 'a', 0)
    const second = await probe.put('k', 'b', first)
    await probe.put('k', null, second)
    const third = await probe.put('k', 'c', 0)
    assert.ok(third > second, `${third} is above ${second}`)
    assert.deepEqual(await probe.commit({ states: [change('k', 'late', first)] }), {
      outcome: 'conflict',
    })
    assert.equal((await probe.loadOne('k')).value?.toString(), 'c')
  },

  async 'removing what is not there is no conflict'(probe) {
    assert.equal(await probe.put('k', null, 0), 0)
    assert.deepEqual(await probe.loadOne('k'), noState)
  },

  async 'what callers do to their buffers afterwards changes nothing'(probe) {
    const key = Buffer.from('k')
    const value = Buffer.from('value')
    await probe.put(key, value, 0)
    value.fill(0)
    key.fill(0)
    const row = await probe.loadOne('k')
    row.value?.fill(1)
    assert.equal((await probe.loadOne('k')).value?.toString(), 'value')
  },

  async 'services have states of their own'(probe) {
    const other = probe.renamed()
    const ours = await probe.put('k', 'ours', 0)
    const theirs = await other.put('k', 'theirs', 0)
    await other.put('k', null, theirs)
    assert.deepEqual(await probe.loadOne('k'), stateRow('ours', ours))
  },

  async 'service names that differ in case are different services'(probe) {
    const upper = probe.renamed(probe.service.toUpperCase())
    await probe.put('k', 'lower', 0)
    assert.deepEqual(await upper.loadOne('k'), noState)
  },
}
