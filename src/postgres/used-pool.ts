import { loadDriver } from './driver.ts'
import type { PostgresPool } from './pool.ts'

/** What a pool of our own is made with; times in milliseconds. */
export interface PoolSettings {
  readonly poolSize: number
  readonly connectTimeout: number
  readonly statementTimeout: number
}

/** The pool to use, and what ends it: nothing when it is the user's. */
export async function usedPool(
  { connectionString, pool }: { readonly connectionString?: string; readonly pool?: PostgresPool },
  { poolSize, connectTimeout, statementTimeout }: PoolSettings,
): Promise<{ readonly pool: PostgresPool; end(): Promise<void> }> {
  if (pool !== undefined) return { pool, end: async () => {} }
  const { Pool } = await loadDriver()
  const own = new Pool({
    ...(connectionString === undefined ? {} : { connectionString }),
    max: poolSize,
    connectionTimeoutMillis: connectTimeout,
    statement_timeout: statementTimeout,
    idle_in_transaction_session_timeout: statementTimeout,
    application_name: 'pollux',
    keepAlive: true,
  })
  return { pool: own, end: () => own.end() }
}
