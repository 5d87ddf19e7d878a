import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type pg from 'pg'
import { type GateDatabase, GateTable } from '../../src/patterns/gate/table.ts'
import { postgres } from '../../src/postgres/index.ts'
import { address, ask, freshName, newClient } from '../postgres/server.ts'
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

function databaseOf(client: pg.Client): GateDatabase {
  return {
    query: async <R extends object>(sql: string, params: readonly unknown[] = []) =>
      (await client.query<R>(sql, [...params])).rows,
  }
}
