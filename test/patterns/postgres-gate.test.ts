import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type pg from 'pg'
import { fact, gate, type Service, text, topic } from '../../src/index.ts'
import { type GateDatabase, GateTable } from '../../src/patterns/gate/table.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgres, postgresTransaction } from '../../src/postgres/index.ts'
import { systemClock } from '../../src/system-clock.ts'
import { eventually } from '../../src/testing/index.ts'
import { address, ask, freshName, newClient } from '../postgres/server.ts'
import { books } from './gate-books.ts'
import { gateCases, roomCase } from './gate-cases.ts'

const schema = freshName()

before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema if exists ${schema} cascade`))

const database = () => ({
  store: () => postgres({ connectionString: address(), schema }),
  ask,
  schema,
})
gateCases('PostgreSQL', database)
roomCase('PostgreSQL', database)

test('an account that may make no tables is told what somebody else has to run', async () => {
  const role = freshName()
  await ask(`create role ${role}`)
  await ask(`grant usage on schema ${schema} to ${role}`)
  const client = await newClient()
  try {
    await client.query(`set role ${role}`)
    const table = new GateTable(`${schema}.forbidden`, [{ name: 'paid', isKept: true }])
    const prepare = () => table.prepare(databaseOf(client), {})
    await assert.rejects(prepare(), ({ code, found, hint }) => {
      assert.deepEqual(
        [code, found],
        ['POLLUX_TABLE_INVALID', `permission denied for schema ${schema}`],
      )
      assert.match(hint, /create table if not exists .*"paid_payload" jsonb/s)
      return true
    })
    await ask(table.shape.statement)
    await prepare()
  } finally {
    await client.end()
    await ask(`drop owned by ${role}`)
    await ask(`drop role ${role}`)
  }
})

test('members that make the same table at the same time all find it', async () => {
  const clients = await Promise.all(Array.from({ length: 6 }, () => newClient()))
  const prepared = clients.map(async (client) => {
    const table = new GateTable(`${schema}.at_once`, [{ name: 'paid', isKept: false }])
    await client.query('begin')
    await table.prepare(databaseOf(client), {})
    await client.query('commit')
  })
  await Promise.all(prepared)
  await Promise.all(clients.map((client) => client.end()))
})

test('case 46: both members have read, or wait to read, before either writes: each of 500 gates opens once, and a copy opens none', async (t) => {
  const [left, right] = [topic('left', { value: text }), topic('right', { value: text })]
  const pairs = gate('pairs', {
    facts: { left: fact(left), right: fact(right) },
    outputs: [books],
    table: `${schema}.pairs`,
    db: postgresTransaction,
    open: (key) => books.message({ key, value: 'opened' }),
  })
  const [one, other] = [new Member(pairs, await newClient()), new Member(pairs, await newClient())]
  t.after(() => Promise.all([one.client.end(), other.client.end()]))
  await one.handle('left', 'makes the table')
  one.other = other
  other.other = one
  for (let round = 0; round < 500; round += 1) {
    one.hasRead = other.hasRead = false
    const key = `${round}`
    // A row that is there is locked otherwise than one that both of them would make.
    if (round % 2 === 1) await ask(`insert into ${schema}.pairs (key) values ($1)`, [key])
    const opened = await Promise.all([one.handle('left', key), other.handle('right', key)])
    assert.equal(opened[0] + opened[1], 1, `the outputs of gate ${round}`)
    assert.equal(await one.handle('left', key), 0, 'a copy')
  }
  const [row] = await ask(`select count(opened_at)::int as opened from ${schema}.pairs`)
  assert.equal(row?.['opened'], 500)
})

/** One that handles facts by hand, and writes only after the other one has read, or waits to. */
class Member {
  readonly client: pg.Client
  other: Member | undefined
  hasRead = false
  readonly #service: Service

  constructor(service: Service, client: pg.Client) {
    this.#service = service
    this.client = client
  }

  /** Handles a fact in a transaction of its own; resolves to how many outputs it has. */
  async handle(name: string, key: string): Promise<number> {
    const { query } = databaseOf(this.client)
    const db: GateDatabase = {
      query: async <R extends object>(sql: string, params?: readonly unknown[]) => {
        const rows = await query<R>(sql, params)
        if (sql.includes('returning key')) await this.#waitForOther()
        return rows
      },
    }
    const context = { db, clock: systemClock, count: () => {}, gauge: () => {}, log: silent }
    await this.client.query('begin')
    const results = await this.#service.handleMany?.(
      [{ topic: name, key }] as never,
      context as never,
    )
    await this.client.query('commit')
    return (results as readonly { outputs: readonly unknown[] }[])[0]?.outputs.length ?? 0
  }

  async #waitForOther(): Promise<void> {
    const { other } = this
    this.hasRead = true
    if (other === undefined) return
    await eventually('the other has read, or waits', () => other.hasRead || other.#isWaiting(), {
      every: 1,
    })
  }

  async #isWaiting(): Promise<boolean> {
    const [row] = await ask(
      `select wait_event_type = 'Lock' as waits from pg_stat_activity where pid = $1`,
      [(this.client as unknown as { readonly processID: number }).processID],
    )
    return row?.['waits'] === true
  }
}

function databaseOf(client: pg.Client): GateDatabase {
  return {
    query: async <R extends object>(sql: string, params: readonly unknown[] = []) =>
      (await client.query<R>(sql, [...params])).rows,
  }
}
