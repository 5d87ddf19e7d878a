import { checkObject, Problems } from '../options.ts'
import type { Store } from '../ports/store.ts'
import { SqlStore } from '../sql/sql-store.ts'
import { loadDriver, type Pool } from './driver.ts'
import { type PostgresOptions, type PostgresPlainOptions, readPostgresOptions } from './options.ts'
import { place } from './place.ts'
import { PostgresConnection } from './postgres-connection.ts'

export { type PostgresOptions, type PostgresPlainOptions, postgresOptions } from './options.ts'

/**
 * A store in PostgreSQL 14 or later. Makes no connection yet: `run` does, or `open`. Needs the driver
 * package `pg` (POLLUX_DRIVER_MISSING says how to get it).
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function postgres(options: PostgresOptions = {}): Store {
  checkObject('postgres()', options, '{ connectionString }, { pool } or {}')
  const problems = new Problems()
  const plain = readPostgresOptions(options, problems)
  problems.throwIfAny('The options of postgres() are wrong')
  const name = `postgres ${place(options)}`
  return new SqlStore({
    name,
    schema: plain.schema,
    newerCode: 'POLLUX_STORE_FAILED',
    connect: async () => {
      const pool = options.pool ?? (await ownPool(options.connectionString, plain))
      return new PostgresConnection(pool, {
        name,
        // The server's own limit comes first; this one is for a server that says nothing any more.
        answerLimit: plain.statementTimeout + 5_000,
        close: async () => {
          if (options.pool === undefined) await pool.end()
        },
      })
    },
  })
}

async function ownPool(
  connectionString: string | undefined,
  plain: PostgresPlainOptions,
): Promise<Pool> {
  const { Pool: NewPool } = await loadDriver()
  return new NewPool({
    ...(connectionString === undefined ? {} : { connectionString }),
    max: plain.poolSize,
    connectionTimeoutMillis: plain.connectTimeout,
    statement_timeout: plain.statementTimeout,
    idle_in_transaction_session_timeout: plain.statementTimeout,
    application_name: 'pollux',
    keepAlive: true,
  })
}
