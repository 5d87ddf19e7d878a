import type { Duration } from '../../duration.ts'
import { checkObject, type OptionTable, Problems, readOptions } from '../../options.ts'
import type { RowShape, Target } from '../../ports/target.ts'
import { groupsOfColumns } from '../../rows/live-check.ts'
import { TableDatabase } from '../../rows/table-database.ts'
import { TableName } from '../../rows/table-name.ts'
import type { ConnectedTable } from '../../rows/table-rows.ts'
import { type NotesPlace, tableTarget } from '../../rows/table-target.ts'
import { checkName, keepDeleted, poolSize } from '../../rows/target-options.ts'
import type { SqlSession } from '../../sql/sql.ts'
import { checkPlace, postgresOptions } from '../options.ts'
import { place } from '../place.ts'
import type { PostgresPool } from '../pool.ts'
import { PostgresConnection } from '../postgres-connection.ts'
import { usedPool } from '../used-pool.ts'
import { readLive } from './live-table.ts'
import { NotedVersions } from './noted-versions.ts'
import { PostgresDialect } from './postgres-dialect.ts'
import { quoted } from './quoted.ts'
import { TableStatements } from './statements.ts'
import { trouble } from './table-errors.ts'

/** What `postgresTable` takes; `docs/patterns/sidecar.md` describes it with examples. */
export interface PostgresTableOptions {
  /** As `schema.table`, or `table` alone, which the search path leads to. */
  readonly table: string
  /**
   * Where the database is, as `postgres://user:password@host:port/database`. Without it, and without `pool`, the
   * environment says it, by PGHOST and so on.
   */
  readonly connectionString?: string
  /** A pool of your own instead, which is never ended. */
  readonly pool?: PostgresPool
  /**
   * Where versions are noted beside the table, as `schema.table`; made where it is missing. False: nowhere, so versions
   * need a column, and a delete forgets its version.
   */
  readonly versions?: string | false
  readonly keepDeleted?: Duration
  readonly poolSize?: number
  readonly connectTimeout?: Duration
  readonly statementTimeout?: Duration
}

/** The plain options as read: durations in milliseconds. */
export interface PostgresTablePlainOptions {
  readonly keepDeleted: number
  readonly poolSize: number
  readonly connectTimeout: number
  readonly statementTimeout: number
}

export const postgresTableOptions: OptionTable<PostgresTablePlainOptions> = {
  keepDeleted,
  poolSize,
  connectTimeout: postgresOptions.connectTimeout,
  statementTimeout: postgresOptions.statementTimeout,
}

// Beside those of the table of options.
const partNames = ['connectionString', 'pool', 'table', 'versions']

const defaultVersions = 'pollux.sidecar_versions'

/**
 * A table of PostgreSQL 14 or later, as the target of a sidecar. Makes no connection yet: `run` does. Needs the driver
 * package `pg`.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function postgresTable(options: PostgresTableOptions): Target {
  checkObject('postgresTable()', options, "{ table: 'schema.table', connectionString }")
  const problems = new Problems()
  const {
    connectionString: _,
    pool: _pool,
    table: given,
    versions = defaultVersions,
    ...plain
  } = options
  checkPlace(options, problems)
  checkName('table', given, problems)
  if (versions !== false) checkName('versions', versions, problems)
  const read = readOptions(postgresTableOptions, plain, problems, partNames)
  problems.throwIfAny('The options of postgresTable() are wrong')
  const named = (text: string): TableName => new TableName(text, quoted)
  const table = named(given)
  const name = `the table ${table} in postgres ${place(options)}`
  return tableTarget({
    name,
    table,
    versions: versions === false ? undefined : named(versions),
    keepDeleted: read.keepDeleted,
    connect: (shape, notes) =>
      connect({ name, table, shape, notes, place: options, settings: read }),
  })
}

interface ConnectParts {
  readonly name: string
  readonly table: TableName
  readonly shape: RowShape
  readonly notes: NotesPlace | undefined
  readonly place: Pick<PostgresTableOptions, 'connectionString' | 'pool'>
  readonly settings: PostgresTablePlainOptions
}

async function connect(parts: ConnectParts): Promise<ConnectedTable> {
  const { name, table, shape, settings } = parts
  const { pool, end } = await usedPool(parts.place, settings)
  const answerLimit = settings.statementTimeout + 5_000
  const connection = new PostgresConnection(pool, { name, answerLimit, end })
  try {
    const session = await connection.session()
    try {
      const live = await readLive(session, table, shape)
      const notes = parts.notes && new NotedVersions(parts.notes)
      await notes?.open(session)
      const statements = new TableStatements(table, live, groupsOfColumns(shape))
      return {
        live,
        database: new TableDatabase<SqlSession>(
          new PostgresDialect(name, connection, statements),
          notes,
        ),
        forget: notes && (() => notes.forget(connection)),
        close: () => connection.close(),
      }
    } finally {
      session.release(false)
    }
  } catch (error) {
    await connection.close()
    throw trouble(name, error)
  }
}
