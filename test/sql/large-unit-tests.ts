import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { OutgoingRecord } from '../../src/ports/broker.ts'
import {
  change,
  later,
  mark,
  progress,
  record,
  StoreProbe,
} from '../../src/testing/store-contract/store-probe.ts'
import type { TestDatabase } from './test-database.ts'

const orders = [0, 1].map((partition) => ({ topic: 'orders', partition }))
const megabyte = 1024 ** 2

/** Units as large as they get, and values that break what is written carelessly. */
export function largeUnitTests(name: string, newDatabase: () => Promise<TestDatabase>): void {
  describe(`large units on ${name}`, () => {
    let database: TestDatabase
    let probe: StoreProbe

    before(async () => {
      database = await newDatabase()
      probe = await StoreProbe.open(database.store('large'))
    })
    after(() => database.close())

    it('hold 1000 marks, 1000 states and outputs of a megabyte, and come back byte by byte', async () => {
      const rows = await probe.acquire(...orders)
      const ids = Array.from({ length: 1_000 }, () => randomBytes(256))
      const values = ids.map(() => randomBytes(1_000))
      const outputs: OutgoingRecord[] = [
        record('', {
          key: Buffer.alloc(0),
          value: randomBytes(megabyte),
          headers: [
            { name: 'id', value: randomBytes(100) },
            { name: 'id', value: null },
            { name: '', value: Buffer.alloc(0) },
          ],
          partition: 7,
          timestamp: 1_700_000_000_000.5,
        }),
        record('', { key: null, value: null }),
      ]
      const versions = await probe.committed({
        marks: ids.map((id, offset) => mark(id, { offset, topic: `topic ${offset % 3}` })),
        states: ids.map((id, index) => change(id, values[index] ?? null, 0)),
        ledger: rows.map((row) =>
          progress(row, 1_000, {
            outputs,
            settled: Array.from({ length: 1_000 }, (_, index) => ({
              from: 2_000 + 2 * index,
              to: 2_001 + 2 * index,
            })),
          }),
        ),
      })
      const states = await probe.load(...ids)
      assert.ok(states.every(({ value }, index) => value?.equals(values[index] as Buffer)))
      assert.deepEqual(
        states.map(({ version }) => version),
        versions,
      )
      const applied = await probe.applied(
        ...ids.map((id, offset) => mark(id, { topic: `topic ${offset % 3}` })),
      )
      assert.ok(applied.every(Boolean))
      for (const { unpublished, settled } of await probe.acquire(...orders)) {
        assert.equal(settled.length, 1_000)
        assert.deepEqual(
          unpublished[0]?.records.map((one) => ({ ...one, headers: [...one.headers] })),
          outputs,
        )
      }
    })

    it('may have tens of megabytes of outputs that wait', async () => {
      const own = probe.renamed()
      const partition = { topic: 'orders', partition: 0 }
      let current = await own.acquireOne(partition)
      const sums: number[] = []
      for (let unit = 0; unit < 12; unit += 1) {
        const value = randomBytes(2 * megabyte)
        sums.push(value.reduce((sum, byte) => sum + byte, 0))
        await own.committed({
          ledger: [progress(current, unit, { outputs: [record('', { value })] })],
        })
        current = later(current)
      }
      const { unpublished } = await own.acquireOne(partition)
      assert.deepEqual(
        unpublished.map(({ records }) => records[0]?.value?.reduce((sum, byte) => sum + byte, 0)),
        sums,
      )
    })

    it('take names, ids and keys of any bytes', async () => {
      const odd = ['\0', '"', '\\', "'", '{}', 'NULL', '\n', '\u{1F600}', '%s $1', ' ', ',']
      const topic = 'a.b_c-D "q" \\ {x,y} ü'
      const own = probe.renamed(`service ${odd.slice(1).join('')} ${randomUUID()}`)
      const row = await own.acquireOne({ topic, partition: 2 ** 31 - 1, topicId: '"\\{},' })
      assert.equal(row.topicId, '"\\{},')
      await own.committed({
        marks: odd.map((id) => mark(id, { topic, partition: 2 ** 31 - 1, offset: 2 ** 53 - 1 })),
        states: odd.map((key) => change(key, key, 0, key === '\0' ? '' : key)),
        ledger: [
          progress(row, 2 ** 53 - 2, { outputs: odd.map((text) => record(text, { topic: text })) }),
        ],
      })
      const states = await own.load(...odd)
      assert.deepEqual(
        states.map(({ value, guard }) => [value?.toString(), guard]),
        odd.map((text) => [text, text === '\0' ? '' : text]),
      )
      const applied = await own.applied(...odd.map((id) => mark(id, { topic })))
      assert.ok(applied.every(Boolean))
      const [again] = await own.acquire({ topic, partition: 2 ** 31 - 1 })
      assert.equal(again?.next, 2 ** 53 - 2)
      assert.deepEqual(
        again?.unpublished[0]?.records.map(({ topic: to }) => to),
        odd,
      )
    })
  })
}
