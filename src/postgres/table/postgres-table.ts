import type { Duration } from '../../duration.ts'
import { errorText, PolluxError } from '../../errors.ts'
import { checkObject, type OptionTable, Problems, readOptions } from '../../options.ts'
import type { RowShape, Target } from '../../ports/target.ts'
import { groupsOfColumns, needsNotes, wantsNotes } from '../../rows/live-check.ts'
import type { RowDatabase } from '../../rows/row-database.ts'
import { type ConnectedTable, TableRows } from '../../rows/table-rows.ts'
import { checkName, keepDeleted, poolSize } from '../../rows/target-options.ts'
import { isPassing, sqlState } from '../../sql/sql-errors.ts'
import { checkPlace, postgresOptions } from '../options.ts'
import { place } from '../place.ts'
import type { PostgresPool } from '../pool.ts'
import { PostgresConnection } from '../postgres-connection.ts'
import { usedPool } from '../used-pool.ts'
import { readLive } from './live-table.ts'
import { NotedVersions } from './noted-versions.ts'
import { TableStatements } from './statements.ts'
import { TableName } from './table-name.ts'
import { TableTransaction } from './table-transaction.ts'

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
  const table = new TableName(given)
  const name = `the table ${table} in postgres ${place(options)}`
  return {
    name,
    check(shape, report) {
      if (versions === false && needsNotes(shape))
        report('version.column: expected a column, since the target notes no versions')
    },
    rows(shape) {
      const notes =
        versions === false || !wantsNotes(shape)
          ? undefined
          : new NotedVersions(new TableName(versions), `${shape.owner} ${table}`, read.keepDeleted)
      return new TableRows(name, shape, () =>
        connect({ name, table, shape, notes, place: options, settings: read }),
      )
    },
  }
}

interface ConnectParts {
  readonly name: string
  readonly table: TableName
  readonly shape: RowShape
  readonly notes: NotedVersions | undefined
  readonly place: Pick<PostgresTableOptions, 'connectionString' | 'pool'>
  readonly settings: PostgresTablePlainOptions
}

async function connect({
  name,
  table,
  shape,
  notes,
  place: where,
  settings,
}: ConnectParts): Promise<ConnectedTable> {
  const { pool, end } = await usedPool(where, settings)
  const answerLimit = settings.statementTimeout + 5_000
  const connection = new PostgresConnection(pool, { name, answerLimit, end })
  try {
    const session = await connection.session()
    try {
      const live = await readLive(session, table, shape)
      await notes?.open(session)
      const statements = new TableStatements(table, live, groupsOfColumns(shape))
      return {
        live,
        database: new TableDatabase(name, connection, statements, notes),
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

class TableDatabase implements RowDatabase {
  readonly isNoting: boolean
  readonly #name: string
  readonly #connection: PostgresConnection
  readonly #statements: TableStatements
  readonly #notes: NotedVersions | undefined

  constructor(
    name: string,
    connection: PostgresConnection,
    statements: TableStatements,
    notes: NotedVersions | undefined,
  ) {
    this.isNoting = notes !== undefined
    this.#name = name
    this.#connection = connection
    this.#statements = statements
    this.#notes = notes
  }

  async begin(): Promise<TableTransaction> {
    const session = await this.#connection.session()
    try {
      await session.run('begin')
    } catch (error) {
      session.release(true)
      throw error
    }
    return new TableTransaction(session, this.#statements, this.#notes)
  }

  refusal(error: unknown): PolluxError | undefined {
    const state = sqlState(error)
    if (state === undefined || !refusing.test(state)) return undefined
    const { constraint } = error as { readonly constraint?: string }
    const because = constraint === undefined ? '' : `, constraint ${constraint}`
    return new PolluxError('POLLUX_ROW_REFUSED', `${this.#name} cannot take this row.`, {
      found: `${errorText(error)} (SQLSTATE ${state}${because})`,
    })
  }

  trouble(error: unknown): PolluxError {
    return trouble(this.#name, error)
  }
}

// Values that do not fit (22), constraints (23), a view's check (44), a row that is there twice, one too large for an
// index, and what triggers raise themselves.
const refusing = /^(22...|23...|44000|21000|54000|P0001)$/

function trouble(name: string, error: unknown): PolluxError {
  if (PolluxError.is(error) && error.code !== 'POLLUX_STORE_UNREACHABLE') return error
  const state = sqlState(error)
  const isLost = PolluxError.is(error) || isPassing(state)
  const found = PolluxError.is(error)
    ? error.found
    : `${errorText(error)}${state === undefined ? '' : ` (SQLSTATE ${state})`}`
  return isLost
    ? new PolluxError('POLLUX_TARGET_UNREACHABLE', `${name} cannot be reached now.`, {
        ...(found === undefined ? {} : { found }),
      })
    : new PolluxError('POLLUX_TARGET_FAILED', `${name} refused a request.`, {
        ...(found === undefined ? {} : { found }),
      })
}
