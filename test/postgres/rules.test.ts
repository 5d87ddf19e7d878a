import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type pg from 'pg'
import type { LedgerRow, Mark, Store, Unit } from '../../src/ports/store.ts'
import { type PostgresTransaction, postgres } from '../../src/postgres/index.ts'
import { commit } from '../../src/sql/commit.ts'
import type { Sql } from '../../src/sql/sql.ts'
import { eventually } from '../../src/testing/index.ts'
import { address, ask, freshName, newClient } from './server.ts'

const schema = freshName()
const stores: Store[] = []
let owner: Store
let other: Store

/** Another process on the same tables. */
async function newStore(lockTimeout: '200ms' | '10s'): Promise<Store> {
  const store = postgres({ connectionString: address(), schema, lockTimeout })
  stores.push(store)
  await store.open()
  return store
}

before(async () => {
  owner = await newStore('10s')
  other = await newStore('10s')
})

after(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await ask(`drop schema ${schema} cascade`)
})

const place = { topic: 'input', partition: 0, topicId: 'id' }

async function acquire(store: Store, service: string): Promise<LedgerRow> {
  const [row] = await store.acquire(service, [place])
  assert.ok(row)
  return row
}

function unitOf(service: string, row: LedgerRow, next: number, marks: readonly Mark[] = []): Unit {
  const [key, value] = [Buffer.from('k'), Buffer.from(`output ${next}`)]
  const record = { topic: 'output', partition: undefined, key, value, headers: [], timestamp: 0 }
  const change = { ...row, next, outputs: [record], acknowledged: undefined }
  return { service, marks, states: [], ledger: [change] }
}

/** A unit that is all there but for the end of its transaction. */
async function almostCommitted(unit: Unit): Promise<pg.Client> {
  const client = await newClient()
  const query = async (text: string, params: readonly unknown[] = []) =>
    (await client.query<Record<string, unknown>>(text, [...params])).rows
  await client.query("set application_name = 'pollux'")
  await client.query('begin')
  const sql = { query, call: query, read: query } as unknown as Sql
  assert.equal((await commit(sql, `"${schema}"`, unit)).outcome, 'committed')
  return client
}

/** How many wait for a lock on the tables of this file. */
async function waiting(): Promise<number> {
  const rows = await ask(
    `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%' || $1 || '%'`,
    [schema],
  )
  return rows.length
}

test('R3: a new owner that comes in the middle of a commit is told all that this commit has stored', async () => {
  const unit = unitOf('r3', await acquire(owner, 'r3'), 5)
  const client = await almostCommitted(unit)
  const acquiring = acquire(other, 'r3')
  await eventually('the new owner waits', async () => (await waiting()) === 1)
  await client.query('commit')
  await client.end()
  const row = await acquiring
  assert.deepEqual([row.unit, row.next, row.unpublished.length], [1, 5, 1])
  const late = unitOf('r3', { ...row, epoch: row.epoch - 1 }, 6)
  assert.deepEqual(await owner.commit(late), { outcome: 'fenced' })
})

test('R3: a former owner that is frozen in the middle of a transaction is ended, and nothing of it stays', async () => {
  const unit = unitOf('frozen', await acquire(owner, 'frozen'), 5)
  const client = await almostCommitted(unit)
  const impatient = await newStore('200ms')
  const row = await acquire(impatient, 'frozen')
  assert.deepEqual([row.unit, row.next, row.unpublished], [0, undefined, []])
  await assert.rejects(client.query('commit'))
  await client.end().catch(() => {})
  assert.equal((await impatient.commit(unitOf('frozen', row, 1))).outcome, 'committed')
})

test('R7: units that touch the same rows in opposite order never wait for each other in a circle', async () => {
  const marksOf = (...ids: readonly string[]): Mark[] =>
    ids.map((id, offset) => ({ topic: 'input', partition: 0, offset, id: Buffer.from(id) }))
  const [left, middle, right] = await owner.acquire(
    'r7',
    [0, 1, 2].map((partition) => ({ ...place, partition })),
  )
  assert.ok(left && middle && right)
  // Holds both up in the middle, after the first of their rows.
  const client = await almostCommitted(unitOf('r7', middle, 1, marksOf('m')))
  const committing = [
    owner.commit(unitOf('r7', left, 1, marksOf('a', 'm', 'z'))),
    other.commit(unitOf('r7', right, 1, marksOf('z', 'm', 'a'))),
  ]
  await eventually('both wait', async () => (await waiting()) === 2)
  await client.query('rollback')
  await client.end()
  const outcomes = (await Promise.all(committing)).map(({ outcome }) => outcome)
  assert.deepEqual(outcomes.toSorted(), ['committed', 'conflict'])
})

test('R16: a deferred constraint fails the attempt that broke it, and those before and after it stay', async () => {
  await ask(`create table ${schema}.parents (id int primary key)`)
  await ask(`create table ${schema}.children (
    id int primary key,
    parent int references ${schema}.parents deferrable initially deferred
  )`)
  const { transactions } = owner
  assert.ok(transactions)
  const row = await acquire(owner, 'r16')
  const transaction = await transactions.begin()
  const write = (text: string) =>
    transaction.attempt(async (capability) => {
      await (capability as PostgresTransaction).query(text)
    })
  // Children may come before their parents within an attempt.
  await write(
    `with child as (insert into ${schema}.children values (1, 1)) insert into ${schema}.parents values (1)`,
  )
  await assert.rejects(
    write(`insert into ${schema}.children values (2, 99)`),
    (error) => (error as { code?: string }).code === '23503',
  )
  await write(`insert into ${schema}.children values (3, 1)`)
  assert.equal((await transaction.commit(unitOf('r16', row, 3))).outcome, 'committed')
  const rows = await ask(`select id from ${schema}.children order by id`)
  assert.deepEqual(
    rows.map(({ id }) => id),
    [1, 3],
  )
})

test('R16: the versions of a key never start again, so that a stale one never fits', async () => {
  const key = Buffer.from('k')
  const change = (value: string | null, version: number) => ({
    key,
    value: value === null ? null : Buffer.from(value),
    guard: null,
    version,
  })
  const commitState = async (value: string | null, version: number) =>
    await owner.commit({
      service: 'versions',
      marks: [],
      states: [change(value, version)],
      ledger: [],
    })
  const first = await commitState('one', 0)
  assert.ok(first.outcome === 'committed')
  const [stale = 0] = first.versions
  assert.equal((await commitState(null, stale)).outcome, 'committed')
  assert.equal((await commitState('two', 0)).outcome, 'committed')
  assert.deepEqual(await commitState('late', stale), { outcome: 'conflict' })
})
