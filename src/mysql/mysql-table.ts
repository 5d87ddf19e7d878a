import type { Duration } from '../duration.ts'
import { checkObject, duration, type OptionTable, Problems, readOptions } from '../options.ts'
import type { RowShape, Target } from '../ports/target.ts'
import { groupsOfColumns } from '../rows/live-check.ts'
import { TableDatabase } from '../rows/table-database.ts'
import { TableName } from '../rows/table-name.ts'
import type { ConnectedTable } from '../rows/table-rows.ts'
import { type NotesPlace, tableTarget } from '../rows/table-target.ts'
import { checkName, keepDeleted, poolSize } from '../rows/target-options.ts'
import { readLive } from './live-table.ts'
import { MysqlConnection } from './mysql-connection.ts'
import { MysqlDialect } from './mysql-dialect.ts'
import { trouble } from './mysql-errors.ts'
import { NotedVersions } from './noted-versions.ts'
import { quoted } from './quoted.ts'
import { TableStatements } from './statements.ts'

/** What `mysqlTable` takes; `docs/patterns/sidecar.md` describes it with examples. */
export interface MysqlTableOptions {
  /** Where the database is, as `mysql://user:password@host:port/database`. */
  readonly connectionString: string
  /** As `database.table`, or `table` alone, which is in the database of the connection. */
  readonly table: string
  /**
   * Where versions are noted beside the table, as `database.table`; made where it is missing. Without it versions need a
   * column, and a delete forgets its version.
   */
  readonly versions?: string
  readonly keepDeleted?: Duration
  readonly poolSize?: number
  readonly connectTimeout?: Duration
  readonly statementTimeout?: Duration
}

/** The plain options as read: durations in milliseconds. */
export interface MysqlPlainOptions {
  readonly keepDeleted: number
  readonly poolSize: number
  readonly connectTimeout: number
  readonly statementTimeout: number
}

export const mysqlOptions: OptionTable<MysqlPlainOptions> = {
  keepDeleted,
  poolSize,
  connectTimeout: duration({
    default: '10s',
    min: '100ms',
    max: '10m',
    help: 'How long taking up a connection may take.',
  }),
  statementTimeout: duration({
    default: '15s',
    min: '1s',
    max: '10m',
    help:
      'How long one statement may run, or wait for a lock, before it is given up and the batch repeated. Too low: large ' +
      'batches fail again and again. Too high: a server that says nothing any more is waited for that long.',
  }),
}

/**
 * A table of MySQL 8 or MariaDB 10.5 or later, as the target of a sidecar. Makes no connection yet: `run` does. Needs the driver
 * package `mysql2`.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function mysqlTable(options: MysqlTableOptions): Target {
  checkObject('mysqlTable()', options, "{ connectionString, table: 'table' }")
  const problems = new Problems()
  const { connectionString, table: given, versions, ...plain } = options
  if (!isConnectionString(connectionString))
    problems.add("connectionString: expected 'mysql://user:password@host:3306/database'")
  checkName('table', given, problems)
  if (versions !== undefined) checkName('versions', versions, problems)
  const settings = readOptions(mysqlOptions, plain, problems, [
    'connectionString',
    'table',
    'versions',
  ])
  problems.throwIfAny('The options of mysqlTable() are wrong')
  const named = (text: string): TableName => new TableName(text, quoted)
  const table = named(given)
  const name = `the table ${table} in mysql ${place(connectionString)}`
  return tableTarget({
    name,
    table,
    versions: versions === undefined ? undefined : named(versions),
    keepDeleted: settings.keepDeleted,
    connect: (shape, notes) => connect({ name, table, shape, notes, connectionString, settings }),
  })
}

function isConnectionString(value: unknown): value is string {
  return typeof value === 'string' && /^(mysql|mariadb):/.test(value) && URL.canParse(value)
}

/** Where the database is, for messages: without user and password. */
function place(connectionString: string): string {
  const { hostname, port, pathname } = new URL(connectionString)
  return `${hostname || 'localhost'}:${port || 3306}${pathname}`
}

interface ConnectParts {
  readonly name: string
  readonly table: TableName
  readonly shape: RowShape
  readonly notes: NotesPlace | undefined
  readonly connectionString: string
  readonly settings: MysqlPlainOptions
}

async function connect(parts: ConnectParts): Promise<ConnectedTable> {
  const { name, table, shape } = parts
  const connection = await MysqlConnection.to(parts.connectionString, parts.settings)
  try {
    return await connection.with(async (session) => {
      const live = await readLive(session, table, shape)
      const notes = parts.notes && new NotedVersions(parts.notes)
      await notes?.open(session)
      const { literal } = connection
      const statements = new TableStatements(table, live, groupsOfColumns(shape), literal)
      return {
        live,
        database: new TableDatabase(new MysqlDialect(name, connection, statements), notes),
        forget: notes && (() => connection.with((other) => notes.forget(other))),
        close: () => connection.close(),
      }
    })
  } catch (error) {
    await connection.close()
    throw trouble(name, error)
  }
}
