import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { placesTable } from '../../src/postgres/index.ts'
import { aroundDelft, cities, delft, inKilometres } from '../patterns/delegate/cities.ts'
import { ask, freshName, server } from './server.ts'

const database = freshName()
const db = new pg.Pool({ ...server, database, max: 2 })
// Dropping by force may end a connection that is about to close by itself.
db.on('connect', (client) => client.on('error', () => {}))

before(async () => {
  await ask(`create database ${database}`)
})
after(async () => {
  await db.end()
  await ask(`drop database ${database} with (force)`)
})

test('places within a distance are found on a server, too, nearest first, in metres', async (context) => {
  const { rows } = await db.query(
    "select count(*)::int as found from pg_available_extensions where name in ('cube', 'earthdistance')",
  )
  if (rows[0].found < 2) return context.skip('the server has no extension earthdistance')
  await db.query(`
    create extension cube; create extension earthdistance;
    create table cities (id text primary key, latitude float8, longitude float8);
  `)
  const table = placesTable({ db, table: 'cities' })
  await table.upsert(cities)
  assert.deepEqual(inKilometres(await table.nearest({ ...delft, within: 20_000 })), aroundDelft)
})
