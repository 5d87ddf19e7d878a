import { randomInt } from 'node:crypto'
import pg from 'pg'

const { PGHOST, PGUSER, PGDATABASE } = process.env

/** Where PostgreSQL is: by the usual variables, else the local one. The driver reads the others of them itself. */
export const server: pg.ClientConfig = {
  host: PGHOST ?? '127.0.0.1',
  user: PGUSER ?? 'postgres',
  database: PGDATABASE ?? 'postgres',
}

/** Gives `work` the name of a schema that nobody has, and drops that schema afterwards. */
export async function withSchema<T>(
  work: (schema: string, database: pg.Client) => Promise<T>,
): Promise<T> {
  const database = new pg.Client(server)
  await database.connect()
  const schema = `pollux_bench_${process.pid}_${randomInt(2 ** 30)}`
  try {
    return await work(schema, database)
  } finally {
    await database.query(`drop schema if exists ${schema} cascade`)
    await database.end()
  }
}

/** Writes out what earlier contestants left in the buffers, so that nobody pays for others. */
export async function checkpoint(database: pg.Client): Promise<void> {
  // Takes a privilege; without it the figures are a bit noisier.
  await database.query('checkpoint').catch(() => {})
}

/** How many rows were written in the schema's tables, by the database's own count. */
export async function rowsWritten(database: pg.Client, schema: string): Promise<number> {
  const { rows } = await database.query<{ written: string }>(
    `select sum(n_tup_ins + n_tup_upd + n_tup_del) as written
      from pg_stat_user_tables where schemaname = $1`,
    [schema],
  )
  return Number(rows[0]?.written)
}

export async function countRows(
  database: pg.Client,
  schema: string,
  table: string,
): Promise<number> {
  const { rows } = await database.query<{ count: string }>(
    `select count(*) from ${schema}.${table}`,
  )
  return Number(rows[0]?.count)
}
