import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { LedgerRow } from '../../src/ports/store.ts'
import {
  change,
  later,
  mark,
  outputsOf,
  progress,
  record,
  StoreProbe,
} from '../../src/testing/store-contract/store-probe.ts'
import type { TestDatabase } from './test-database.ts'

const service = 'billing'
const orders = [0, 1].map((partition) => ({ topic: 'orders', partition }))
/** Marks and keys of one unit. */
const size = 20
/** Index entries that one row's probe may read; a range or a scan reads thousands. */
const entriesPerRow = 4

/** What was read of the tables since the statistics began. */
interface Reads {
  /** Scans of a whole table. */
  readonly scans: number
  /** Rows read without an index. */
  readonly rows: number
  /** Entries read of indexes. */
  readonly entries: number
}

/**
 * That no call reads more because there is more in the tables. Tables are never analysed here: the database knows as
 * little of them as of new ones. `rows` is how many marks there are.
 */
export function planTests(
  name: string,
  rows: number,
  newDatabase: () => Promise<TestDatabase>,
): void {
  describe(`what is read of ${rows} marks and what is beside them on ${name}`, () => {
    let database: TestDatabase
    let probe: StoreProbe
    let ledger: LedgerRow[]

    before(async () => {
      database = await newDatabase()
      probe = await StoreProbe.open(database.store('plans'), service)
      for (const table of ['ledger', 'state', 'inbox', 'outbox']) {
        await database.ask(`alter table plans.pollux_${table} set (autovacuum_enabled = false)`)
      }
      ledger = [...(await probe.acquire(...orders))]
      // The session makes its plans while the tables are one page, where a scan is cheapest.
      for (let round = 0; round < 10; round += 1) await workOnce(`early ${round}`)
      await fill()
    })
    after(() => database.close())

    /** Everything that a running service asks for. */
    async function workOnce(prefix: string): Promise<void> {
      const ids = Array.from({ length: size }, (_, index) => `${prefix} ${index}`)
      const { states, applied } = await probe.store.load(
        service,
        ids.map((id) => Buffer.from(id)),
        ids.map((id) => mark(id)),
      )
      assert.ok(!applied.some(Boolean))
      const added = await probe.committed({
        marks: ids.map((id) => mark(id)),
        states: ids.map((id, index) => change(id, id, states[index]?.version ?? 0)),
        ledger: ledger.map((row) =>
          progress(row, 1, { outputs: [record(prefix)], acknowledged: row.unit - 1 }),
        ),
      })
      // Changed, and half of them removed.
      await probe.committed({
        states: ids.map((id, index) => change(id, index % 2 === 0 ? null : id, added[index] ?? 0)),
      })
      ledger = ledger.map((row) => later(row))
      await probe.store.acknowledge(
        service,
        ledger.map(({ topic, partition, epoch, unit }) => ({ topic, partition, epoch, unit })),
      )
      assert.ok((await probe.store.holds(service, ledger)).every(Boolean))
      await probe.store.unpublished(service, 0)
    }

    /** Much of the same service, and of another one. */
    async function fill(): Promise<void> {
      const someone = `case when i % 2 = 0 then '${service}' else 'shipping' end`
      await database.ask(`insert into plans.pollux_inbox (id, service, topic, partition, "offset")
        select decode(md5(i::text), 'hex'), ${someone}, 'orders', i % 2, i
        from generate_series(1, ${rows}) as i`)
      await database.ask(`insert into plans.pollux_state (service, key, value, version)
        select ${someone}, decode(md5(i::text), 'hex'), 'x', nextval('plans.pollux_state_version')
        from generate_series(1, ${rows / 5}) as i`)
      await database.ask(`insert into plans.pollux_ledger (service, topic, partition, topic_id, epoch)
        select ${someone}, 'topic ' || i % 97, i, 'id', 1 from generate_series(1, 100) as i`)
      await database.ask(`insert into plans.pollux_outbox (service, topic, partition, unit, records, outputs)
        select 'shipping', 'orders', i % 7, i, 1, 'x' from generate_series(1, ${rows / 10}) as i`)
    }

    async function reads(): Promise<Reads> {
      await database.ask('select pg_stat_force_next_flush()')
      const [found] = await database.ask(`select
          (select sum(seq_scan) from pg_stat_user_tables where schemaname = 'plans') as scans,
          (select sum(seq_tup_read) from pg_stat_user_tables where schemaname = 'plans') as rows,
          (select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = 'plans') as entries`)
      return {
        scans: Number(found?.['scans']),
        rows: Number(found?.['rows']),
        entries: Number(found?.['entries']),
      }
    }

    async function readsOf(work: () => Promise<unknown>): Promise<Reads> {
      const start = await reads()
      await work()
      const end = await reads()
      return {
        scans: end.scans - start.scans,
        rows: end.rows - start.rows,
        entries: end.entries - start.entries,
      }
    }

    it('is the rows that are asked for, by a session that made its plans on small tables', async () => {
      const { scans, entries } = await readsOf(() => workOnce('late'))
      assert.equal(scans, 0, 'no table is scanned')
      // Loaded, written, changed and removed, marks and states, and some of the ledger.
      assert.ok(entries < 10 * size * entriesPerRow, `${entries} index entries were read`)
    })

    it('is one partition’s outputs when it is taken over', async () => {
      await probe.committed({
        ledger: ledger.map((row) => progress(row, 2, { outputs: [record('last')] })),
      })
      let taken: readonly LedgerRow[] = []
      const { scans, entries } = await readsOf(async () => {
        taken = await probe.acquire(...orders)
      })
      assert.deepEqual(taken.map(outputsOf).flat(2).filter(Array.isArray), [['last'], ['last']])
      assert.equal(scans, 0, 'no table is scanned')
      assert.ok(entries < 50 * entriesPerRow, `${entries} index entries were read`)
      ledger = [...taken]
    })

    it('is a slice of the marks when old ones are forgotten', async () => {
      await database.ask(
        `update plans.pollux_ledger set next = ${rows} where service = '${service}'`,
      )
      const { scans, rows: read } = await readsOf(async () => {
        assert.equal(await probe.store.forget(service, 0), true)
      })
      assert.equal(scans, 0, 'no table is scanned')
      // 128 pages of 8 kB.
      assert.ok(read > 0 && read < 20_000, `${read} rows were read`)
    })
  })
}
