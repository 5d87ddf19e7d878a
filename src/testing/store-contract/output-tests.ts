import assert from 'node:assert/strict'
import type { OutgoingRecord } from '../../ports/broker.ts'
import { later, outputsOf, progress, record, type StoreTest } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }
const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

const records: readonly OutgoingRecord[] = [
  record('plain'),
  record('of no key', { key: null }),
  record('of an empty key', { key: Buffer.alloc(0) }),
  record('of bytes', { key: allBytes }),
  record('', { value: null }),
  record('', { value: Buffer.alloc(0) }),
  record('', { value: allBytes }),
  record('', { key: null, value: null }),
  record('partition 0', { partition: 0 }),
  record('partition 7', { partition: 7 }),
  record('the last partition', { partition: 2 ** 31 - 1 }),
  record('the first timestamp', { timestamp: 0 }),
  record('a timestamp', { timestamp: 1_767_225_600_123 }),
  record('another topic', { topic: 'Invoices.v2_x-y' }),
  record('headers', {
    headers: [
      { name: 'repeated', value: Buffer.from('first') },
      { name: 'other', value: Buffer.from('between') },
      { name: 'repeated', value: Buffer.from('second') },
      { name: 'Repeated', value: Buffer.from('first') },
      { name: 'repeated', value: Buffer.from('first') },
    ],
  }),
  record('odd headers', {
    headers: [
      { name: 'null', value: null },
      { name: 'empty', value: Buffer.alloc(0) },
      { name: 'bytes', value: allBytes },
      { name: '', value: Buffer.from('without a name') },
      { name: 'é\u{1f9f2}', value: Buffer.from('é\u{1f9f2}') },
    ],
  }),
]

/** Outputs that are stored to be published after the commit. */
export const outputTests: Readonly<Record<string, StoreTest>> = {
  async 'outputs come back byte for byte, in their order'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1, { outputs: records })] })
    const { unpublished } = await probe.acquireOne(orders0)
    assert.equal(unpublished.length, 1)
    assert.equal(unpublished[0]?.unit, 1)
    assert.deepEqual(unpublished[0]?.records.map(comparable), records)
  },

  async 'outputs come back oldest unit first'(probe) {
    const row = await probe.acquireOne(orders0)
    // More than nine, as numbers that are sorted as texts go wrong from there.
    const stored: [number, string[]][] = Array.from({ length: 12 }, (_, index) => [
      index + 1,
      [`${index} a`, `${index} b`],
    ])
    for (const [index, [, values]] of stored.entries()) {
      const outputs = values.map((value) => record(value))
      await probe.committed({ ledger: [progress(later(row, index), index, { outputs })] })
    }
    assert.deepEqual(outputsOf(await probe.acquireOne(orders0)), stored)
  },

  async 'a unit without outputs stores none'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1, { outputs: [record('a')] })] })
    await probe.committed({ ledger: [progress(later(row), 2)] })
    await probe.committed({ ledger: [progress(later(row, 2), 3, { outputs: [record('b')] })] })
    assert.deepEqual(outputsOf(await probe.acquireOne(orders0)), [
      [1, ['a']],
      [3, ['b']],
    ])
  },

  async 'equal outputs are all kept'(probe) {
    const row = await probe.acquireOne(orders0)
    const outputs = [record('same'), record('same')]
    await probe.committed({ ledger: [progress(row, 1, { outputs })] })
    await probe.committed({ ledger: [progress(later(row), 2, { outputs })] })
    assert.deepEqual(outputsOf(await probe.acquireOne(orders0)), [
      [1, ['same', 'same']],
      [2, ['same', 'same']],
    ])
  },

  async 'outputs stay until they are acknowledged, however often the partition is acquired'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1, { outputs: [record('a')] })] })
    for (let count = 0; count < 3; count += 1) {
      assert.deepEqual(outputsOf(await probe.acquireOne(orders0)), [[1, ['a']]])
    }
  },

  async 'outputs stored by several owners come back in the order of their units'(probe) {
    for (const value of ['a', 'b', 'c']) {
      const row = await probe.acquireOne(orders0)
      await probe.committed({ ledger: [progress(row, 1, { outputs: [record(value)] })] })
    }
    assert.deepEqual(outputsOf(await probe.acquireOne(orders0)), [
      [1, ['a']],
      [2, ['b']],
      [3, ['c']],
    ])
  },

  async 'outputs belong to the partition whose messages they come from'(probe) {
    const asked = [orders0, orders1, { topic: 'prices', partition: 0 }]
    const rows = await probe.acquire(...asked)
    await probe.committed({
      // The partition that a record goes to is another matter.
      ledger: rows.map((row, index) =>
        progress(row, 1, { outputs: [record(`${index}`, { topic: 'orders', partition: 1 })] }),
      ),
    })
    const again = await probe.acquire(...asked.toReversed())
    assert.deepEqual(again.map(outputsOf), [[[1, ['2']]], [[1, ['1']]], [[1, ['0']]]])
  },

  async 'services have outputs of their own'(probe) {
    const other = probe.renamed()
    const row = await probe.acquireOne(orders0)
    await other.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1, { outputs: [record('ours')] })] })
    assert.deepEqual(outputsOf(await other.acquireOne(orders0)), [])
  },

  async 'large outputs are kept'(probe) {
    const row = await probe.acquireOne(orders0)
    // Not compressible, so that no store gets away with a small row.
    const value = Buffer.from(
      Array.from({ length: 300_000 }, (_, place) => (place * 2_654_435_761) >>> 24),
    )
    const outputs = [
      record('before'),
      record('', { value }),
      record('', { value }),
      record('after'),
    ]
    await probe.committed({ ledger: [progress(row, 1, { outputs })] })
    const [stored] = (await probe.acquireOne(orders0)).unpublished
    assert.ok(stored)
    assert.equal(stored.records.length, outputs.length)
    for (const [index, output] of outputs.entries()) {
      assert.ok(stored.records[index]?.value?.equals(output.value as Buffer))
    }
  },

  async 'what callers do to buffers of outputs afterwards changes nothing'(probe) {
    const row = await probe.acquireOne(orders0)
    const [key, value, header] = ['key', 'value', 'header'].map((text) => Buffer.from(text)) as [
      Buffer,
      Buffer,
      Buffer,
    ]
    const given = record('', { key, value, headers: [{ name: 'h', value: header }] })
    await probe.committed({ ledger: [progress(row, 1, { outputs: [given] })] })
    for (const bytes of [key, value, header]) bytes.fill(0)
    const [first] = (await probe.acquireOne(orders0)).unpublished
    first?.records[0]?.value?.fill(1)
    const [stored] = (await probe.acquireOne(orders0)).unpublished
    assert.deepEqual(stored?.records.map(comparable), [
      record('value', { headers: [{ name: 'h', value: Buffer.from('header') }] }),
    ])
  },
}

/** Header values may be any bytes; what a test expects are buffers. */
function comparable(record: OutgoingRecord): OutgoingRecord {
  const headers = record.headers.map(({ name, value }) => ({
    name,
    value: value === null ? null : Buffer.from(value),
  }))
  return { ...record, headers }
}
