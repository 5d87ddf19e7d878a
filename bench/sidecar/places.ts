import { randomInt } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { server } from '../store/database.ts'
import type { Database } from './task.ts'

/** Where MariaDB or MySQL is: by MYSQL_URL, else the local one. */
export function mysqlAddress(database = ''): string {
  const url = new URL(process.env.MYSQL_URL ?? 'mysql://root@127.0.0.1:3306')
  url.pathname = `/${database}`
  return url.href
}

const definition = (text: string): string =>
  `(symbol ${text} primary key, price numeric(20, 4), volume bigint, note text)`

/** Gives `work` the name of a schema with an empty table `price`, and drops it afterwards; with the count of its rows. */
export async function withTable<T>(
  database: Database,
  work: (schema: string) => Promise<T>,
): Promise<{ readonly result: T; readonly rows: number }> {
  const schema = `pollux_bench_${process.pid}_${randomInt(2 ** 30)}`
  const { run, end } = await connect(database)
  await run(`create ${database === 'postgres' ? 'schema' : 'database'} ${schema}`)
  try {
    const text = database === 'postgres' ? 'text' : 'varchar(40)'
    await run(`create table ${schema}.price ${definition(text)}`)
    const result = await work(schema)
    const rows = await run(`select count(*) as rows_ from ${schema}.price`)
    return { result, rows: Number(rows[0]?.['rows_']) }
  } finally {
    await run(`drop ${database === 'postgres' ? `schema ${schema} cascade` : `database ${schema}`}`)
    await end()
  }
}

interface Connected {
  run(statement: string): Promise<readonly Record<string, unknown>[]>
  end(): Promise<void>
}

async function connect(database: Database): Promise<Connected> {
  if (database === 'mysql') {
    const connection = await createConnection(mysqlAddress())
    return {
      run: async (statement) => (await connection.query(statement))[0] as Record<string, unknown>[],
      end: () => connection.end(),
    }
  }
  const client = new pg.Client(server)
  await client.connect()
  return {
    run: async (statement) => (await client.query<Record<string, unknown>>(statement)).rows,
    end: () => client.end(),
  }
}
