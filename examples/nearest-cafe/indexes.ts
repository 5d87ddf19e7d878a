import { createClient } from '@redis/client'
import pg from 'pg'
import { type PlacesTable, placesTable } from '../../src/postgres/index.ts'
import { type RedisPlaces, redisPlaces } from '../../src/redis/index.ts'

/** The two indexes, under a name of their own: a key of Redis, and a database of PostgreSQL. */
export interface Indexes {
  readonly redis: RedisPlaces
  readonly table: PlacesTable
  /** Takes them away, and ends the connections. */
  drop(): Promise<void>
}

const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env
const { PGHOST = '127.0.0.1', PGUSER = 'postgres', PGDATABASE = 'postgres' } = process.env
const server = { host: PGHOST, user: PGUSER }

/** Makes both anew. */
export async function makeIndexes(name: string): Promise<Indexes> {
  const client = createClient({ url: REDIS_URL })
  await client.connect()
  await client.del(name)
  const admin = new pg.Pool({ ...server, database: PGDATABASE, max: 1 })
  await admin.query(`drop database if exists ${name} with (force)`)
  await admin.query(`create database ${name}`)
  const db = new pg.Pool({ ...server, database: name, max: 4 })
  // Connections that wait may end with the database.
  db.on('error', () => {})
  await db.query(`
    create extension cube; create extension earthdistance;
    create table cafes (id text primary key, latitude float8 not null, longitude float8 not null);
    create index on cafes using gist (ll_to_earth(latitude, longitude));
  `)
  return {
    redis: redisPlaces({ redis: client, key: name }),
    table: placesTable({ db, table: 'cafes' }),
    async drop() {
      await client.del(name)
      await client.close()
      await db.end()
      await admin.query(`drop database ${name} with (force)`)
      await admin.end()
    },
  }
}
