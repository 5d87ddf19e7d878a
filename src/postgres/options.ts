import { type Duration, durationText } from '../duration.ts'
import {
  checkMethods,
  duration,
  integer,
  type OptionTable,
  type Problems,
  readOptions,
  yesNo,
} from '../options.ts'
import { schemaOption } from '../sql/schema-option.ts'
import type { PostgresPool } from './pool.ts'

/** What `postgres` takes; `docs/postgres.md` describes it with examples. */
export interface PostgresOptions {
  /**
   * Where the database is, as `postgres://user:password@host:port/database`. Without it, and without
   * `pool`, the environment says it, by PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE and so on.
   */
  readonly connectionString?: string
  /**
   * A pool of your own instead, which the store shares and never ends. Its sessions are used as they
   * are: time-outs and poolSize are yours to set.
   */
  readonly pool?: PostgresPool
  readonly schema?: string
  readonly migrate?: boolean
  readonly poolSize?: number
  readonly connectTimeout?: Duration
  readonly statementTimeout?: Duration
  readonly lockTimeout?: Duration
}

/** The plain options as read: durations in milliseconds. */
export interface PostgresPlainOptions {
  readonly schema: string
  readonly migrate: boolean
  readonly poolSize: number
  readonly connectTimeout: number
  readonly statementTimeout: number
  readonly lockTimeout: number
}

export const postgresOptions: OptionTable<PostgresPlainOptions> = {
  schema: schemaOption,
  migrate: yesNo({
    default: true,
    help:
      'Whether opening the store brings its tables up to date. With false, opening fails when they are not, and ' +
      '`pollux migrate` is for whoever has the right to change tables.',
  }),
  poolSize: integer({
    default: 6,
    min: 2,
    max: 1_000,
    help:
      'How many connections the store opens at most. Each service needs one for commits and one for reads, and more ' +
      'when its handlers write in transactions of their own. Too low: they wait for each other. Too high: all ' +
      'processes together reach the max_connections of the server.',
  }),
  connectTimeout: duration({
    default: '10s',
    min: '100ms',
    max: '10m',
    help: 'How long taking up a connection may take, or waiting for a free one.',
  }),
  statementTimeout: duration({
    default: '15s',
    min: '1s',
    max: '10m',
    help:
      'How long one statement may run, and a transaction may stand idle, before the server ends it. Too low: large ' +
      'units fail again and again. Too high: what a frozen process holds stays held. Keep it below the sessionTimeout ' +
      'of the group.',
  }),
  lockTimeout: duration({
    default: '5s',
    min: '10ms',
    max: '10m',
    help:
      'How long taking over a partition waits for the transaction of its former owner, which is ended then. Too low: ' +
      'a large commit that would have been done is lost and repeated. Too high: the partition stands still that long.',
  }),
}

// Beside those of the table.
const partNames = ['connectionString', 'pool']

/** Reads the options and notes what is wrong; secrets are never shown. */
export function readPostgresOptions(
  options: PostgresOptions,
  problems: Problems,
): PostgresPlainOptions {
  const { connectionString: _, pool: _pool, ...plain } = options
  checkPlace(options, problems)
  const read = readOptions(postgresOptions, plain, problems, partNames)
  if (read.lockTimeout >= read.statementTimeout) {
    problems.add(
      `lockTimeout: expected less than statementTimeout (${durationText(read.statementTimeout)}), found ${durationText(read.lockTimeout)}`,
    )
  }
  return read
}

/** Notes what is wrong about the address or the pool. */
export function checkPlace(
  options: Pick<PostgresOptions, 'connectionString' | 'pool' | 'poolSize' | 'connectTimeout'>,
  problems: Problems,
): void {
  const { connectionString, pool } = options
  if (connectionString !== undefined && !isConnectionString(connectionString)) {
    problems.add("connectionString: expected 'postgres://user:password@host:5432/database'")
  }
  if (pool !== undefined) {
    checkMethods(
      'pool',
      pool,
      ['connect', 'query', 'on', 'off'],
      'a pool of the package pg',
      problems,
    )
    for (const name of ['connectionString', 'poolSize', 'connectTimeout'] as const) {
      if (options[name] === undefined) continue
      problems.add(`${name}: expected nothing beside pool, which has its own`)
    }
  }
}

/** Whether it is a PostgreSQL address at all; what is in it shows only when connecting. */
export function isConnectionString(value: unknown): value is string {
  return typeof value === 'string' && /^postgres(ql)?:/.test(value) && URL.canParse(value)
}
