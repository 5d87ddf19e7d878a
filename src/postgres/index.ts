import { checkObject, Problems } from '../options.ts'
import type { MigratableStore } from '../ports/store.ts'
import { SqlStore } from '../sql/sql-store.ts'
import { type PostgresOptions, readPostgresOptions } from './options.ts'
import { place } from './place.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { usedPool } from './used-pool.ts'

export { type PostgresTransaction, postgresTransaction } from '../sql/postgres-transaction.ts'
export { type PostgresOptions, type PostgresPlainOptions, postgresOptions } from './options.ts'
export {
  type EmbeddingRow,
  type Metric,
  type PgvectorOptions,
  type PgvectorTable,
  pgvectorTable,
} from './pgvector-table.ts'
export {
  type NearestPlaces,
  type Place,
  type PlaceRow,
  type PlacesOptions,
  type PlacesTable,
  placesTable,
} from './places-table.ts'
export type { PostgresClient, PostgresPool, PostgresStatement } from './pool.ts'
export type { Queryable } from './queryable.ts'
export { type PostgresRateLimitOptions, postgresRateLimit } from './rate-limit.ts'
export { type PostgresTableOptions, postgresTable } from './table/postgres-table.ts'

/**
 * A store in PostgreSQL 14 or later. Makes no connection yet: `run` does, or `open`. Needs the driver
 * package `pg` (POLLUX_DRIVER_MISSING says how to get it).
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function postgres(options: PostgresOptions = {}): MigratableStore {
  checkObject('postgres()', options, '{ connectionString }, { pool } or {}')
  const problems = new Problems()
  const plain = readPostgresOptions(options, problems)
  problems.throwIfAny('The options of postgres() are wrong')
  const name = `postgres ${place(options)}`
  return new SqlStore({
    name,
    schema: plain.schema,
    newerCode: 'POLLUX_STORE_FAILED',
    migratesAtOpen: plain.migrate,
    lockTimeout: plain.lockTimeout,
    connect: async () => {
      const { pool, end } = await usedPool(options, plain)
      // The server's own limit comes first; this one is for a server that says nothing any more.
      const answerLimit = plain.statementTimeout + 5_000
      return new PostgresConnection(pool, { name, answerLimit, end })
    },
  })
}
