import assert from 'node:assert/strict'
import { change, mark, noState, progress, type StoreTest, stateRow } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }

// Each looks like others of them to whoever reads ids as text, trims, pads or cuts them.
const ids = [
  [],
  [0x00],
  [0x00, 0x00],
  [0x20],
  Buffer.from('id'),
  Buffer.from('ID'),
  Buffer.from('id '),
  Buffer.from('id\0'),
  Buffer.from(' id'),
  Buffer.from('i'),
  Buffer.from('\\x6964'),
  Buffer.from('aWQ='),
  Buffer.from('6964'),
  Buffer.from("'; drop table pollux_inbox; --"),
  Buffer.from('é'),
  Buffer.from('e\u0301'),
  [0xff, 0xc3, 0x28],
  [0xfe, 0xc3, 0x28],
  [0xef, 0xbf, 0xbd],
  [0xff],
  Array.from({ length: 256 }, (_, byte) => byte),
  Array.from({ length: 256 }, (_, byte) => (byte === 255 ? 0 : byte)),
  Array.from({ length: 255 }, (_, byte) => byte),
].map((bytes) => mark(Buffer.from(bytes)))

/** What is known of applied events. */
export const markTests: Readonly<Record<string, StoreTest>> = {
  async 'an event is applied once its mark is committed'(probe) {
    assert.deepEqual(await probe.applied(mark('a')), [false])
    await probe.committed({ marks: [mark('a')] })
    assert.deepEqual(await probe.applied(mark('a')), [true])
  },

  async 'marks are answered in the order asked for, unknown and repeated ones too'(probe) {
    await probe.committed({ marks: [mark('b'), mark('a')] })
    const asked = ['b', 'unknown', 'a', 'b', 'unknown', 'a'].map((id) => mark(id))
    assert.deepEqual(await probe.applied(...asked), [true, false, true, true, false, true])
  },

  async 'keys and marks are answered together, each in their order'(probe) {
    const [b, a] = await probe.committed({
      marks: [mark('m'), mark('n')],
      states: [change('b', 'two', 0), change('a', 'one', 0, 'g')],
    })
    const loaded = await probe.store.load(
      probe.service,
      ['a', 'x', 'b', 'a'].map((key) => Buffer.from(key)),
      ['x', 'n', 'a', 'm', 'x'].map((id) => mark(id)),
    )
    assert.deepEqual(loaded, {
      states: [stateRow('one', a, 'g'), noState, stateRow('two', b), stateRow('one', a, 'g')],
      applied: [false, true, false, true, false],
    })
  },

  async 'load of nothing gives nothing'(probe) {
    assert.deepEqual(await probe.store.load(probe.service, [], []), { states: [], applied: [] })
  },

  async 'ids are bytes, kept exactly and told apart'(probe) {
    // Every other one first, so that each is asked for while its neighbours are there.
    const known = ids.filter((_, index) => index % 2 === 0)
    await probe.committed({ marks: known })
    assert.deepEqual(
      await probe.applied(...ids),
      ids.map((_, index) => index % 2 === 0),
    )
    await probe.committed({ marks: ids.filter((_, index) => index % 2 === 1) })
    assert.deepEqual(
      await probe.applied(...ids),
      ids.map(() => true),
    )
  },

  async 'each id is in conflict with itself'(probe) {
    await probe.committed({ marks: ids })
    for (const one of ids) {
      assert.deepEqual(await probe.commit({ marks: [one] }), { outcome: 'conflict' })
    }
  },

  async 'topics have marks of their own'(probe) {
    const topics = ['orders', 'Orders', 'orders.a', 'orders-a', 'orders_a', 'order']
    await probe.committed({ marks: [mark('sa', { topic: 'orders' })] })
    assert.deepEqual(
      await probe.applied(...topics.map((topic) => mark('sa', { topic }))),
      topics.map((topic) => topic === 'orders'),
    )
    await probe.committed({ marks: topics.slice(1).map((topic) => mark('sa', { topic })) })
  },

  async 'services have marks of their own'(probe) {
    const others = [probe.renamed(), probe.renamed(probe.service.toUpperCase())]
    await probe.committed({ marks: [mark('a')] })
    for (const other of others) {
      assert.deepEqual(await other.applied(mark('a')), [false])
      await other.committed({ marks: [mark('a')] })
    }
  },

  async 'names of service, topic and id that run together are told apart'(probe) {
    for (const sign of ['.', '-', '_', ':', '/']) {
      const longer = probe.renamed(`${probe.service}${sign}a`)
      await longer.committed({ marks: [mark('c', { topic: 'b' })] })
      const near = mark('c', { topic: `a${sign}b` })
      assert.deepEqual(await probe.applied(near), [false])
      const cut = mark(`b${sign}c`, { topic: 'a' })
      assert.deepEqual(await probe.applied(cut), [false])
      await probe.committed({ marks: [near, cut] })
      const known = await longer.applied(mark('c', { topic: 'b' }), near, cut)
      assert.deepEqual(known, [true, false, false])
    }
  },

  async 'partitions of a topic share its marks'(probe) {
    await probe.committed({ marks: [mark('a', { partition: 3, offset: 5 })] })
    const elsewhere = mark('a', { partition: 4, offset: 9 })
    assert.deepEqual(await probe.applied(elsewhere), [true])
    assert.deepEqual(await probe.commit({ marks: [elsewhere] }), { outcome: 'conflict' })
  },

  async 'several events of one place in the log have marks of their own'(probe) {
    await probe.committed({ marks: [mark('a', { offset: 7 }), mark('b', { offset: 7 })] })
    assert.deepEqual(await probe.applied(mark('a'), mark('b')), [true, true])
  },

  async 'marks of offsets up to 2^53 - 1 are kept'(probe) {
    const top = mark('top', { partition: 2 ** 31 - 1, offset: Number.MAX_SAFE_INTEGER })
    await probe.committed({ marks: [top] })
    assert.deepEqual(await probe.applied(top), [true])
  },

  async 'marks stay, whoever takes over and whatever is committed after them'(probe) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ marks: [mark('a')], ledger: [progress(row, 1)] })
    const again = await probe.acquireOne({ ...orders0, topicId: 'second' })
    await probe.committed({ marks: [mark('b', { offset: 1 })], ledger: [progress(again, 100)] })
    await probe.store.acknowledge(probe.service, [{ ...orders0, epoch: again.epoch, unit: 2 }])
    assert.deepEqual(await probe.applied(mark('a'), mark('b')), [true, true])
  },

  async 'what callers do to an id afterwards changes nothing'(probe) {
    const reused = Buffer.from('a')
    await probe.committed({ marks: [mark(reused)] })
    reused.fill('b')
    assert.deepEqual(await probe.applied(mark('a'), mark('b')), [true, false])
  },
}
