import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import pg from 'pg'
import type { LedgerRow } from '../../src/ports/store.ts'
import { postgres } from '../../src/postgres/index.ts'
import {
  later,
  progress,
  record,
  StoreProbe,
} from '../../src/testing/store-contract/store-probe.ts'
import { address, ask, freshName, newClient } from './server.ts'

const schema = freshName()
// One session, whose statistics can be told to be there at once.
const pool = new pg.Pool({ connectionString: address(), max: 1 })
let probe: StoreProbe
let row: LedgerRow

before(async () => {
  probe = await StoreProbe.open(postgres({ pool, schema }))
  row = await probe.acquireOne({ topic: 'orders', partition: 0 })
})

after(async () => {
  await probe.store.close()
  await pool.end()
  await ask(`drop schema ${schema} cascade`)
})

/** Stores one output and acknowledges the one before. */
async function cycle(): Promise<void> {
  const acknowledged = row.unit === 0 ? undefined : row.unit
  await probe.committed({
    ledger: [progress(row, row.unit + 1, { outputs: [record('x')], acknowledged })],
  })
  row = later(row)
}

/** Entries of the outbox's index that are read in one cycle. */
async function entriesOfCycle(): Promise<number> {
  const start = await entries()
  await cycle()
  return (await entries()) - start
}

async function entries(): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ entries: string }>(
    `select sum(idx_tup_read) as entries from pg_stat_user_indexes
    where schemaname = $1 and relname = 'pollux_outbox'`,
    [schema],
  )
  return Number(rows[0]?.entries)
}

it('acknowledging does not step over outputs that are gone while somebody’s old snapshot keeps them', async (t) => {
  // As a backup or a long report does. Until it ends, nothing that is deleted can be cleared away.
  const reader = await newClient()
  t.after(() => reader.end())
  await reader.query('begin isolation level repeatable read')
  await reader.query('select txid_current_snapshot()')
  for (let round = 0; round < 5; round += 1) await cycle()
  const first = await entriesOfCycle()
  for (let round = 0; round < 300; round += 1) await cycle()
  const last = await entriesOfCycle()
  assert.ok(last <= first, `${last} entries were read, ${first} at first`)
})
