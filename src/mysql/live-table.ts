import type { RowShape } from '../ports/target.ts'
import type { Column, Kind } from '../rows/cell.ts'
import { checkLive, type FoundColumn, mismatch } from '../rows/live-check.ts'
import { sameAs } from '../rows/same-as.ts'
import type { TableName } from '../rows/table-name.ts'
import type { Session } from './session.ts'

/** The live table, as far as the sidecar knows it. */
export interface MysqlLive {
  readonly key: readonly Column[]
  readonly columns: readonly Column[]
  /** By group; undefined where a group has no column for its version. */
  readonly versions: readonly (Column | undefined)[]
  /** Names of columns that a new row cannot do without. */
  readonly required: readonly string[]
  /** Another unique index beside the key's: an insert that meets it would change somebody else's row. */
  readonly hasOtherUnique: boolean
}

interface Row {
  readonly name: string
  readonly type: string
  readonly full: string
  readonly scale: number | null
  readonly precision: number | null
  readonly nullable: 'YES' | 'NO'
  readonly fallback: string | null
  readonly extra: string
  readonly collation: string | null
  readonly rights: string
}

/**
 * Reads what the table is like, and compares it with what is declared.
 * @throws POLLUX_TARGET_MISMATCH with all that is wrong.
 */
export async function readLive(
  session: Session,
  table: TableName,
  shape: RowShape,
): Promise<MysqlLive> {
  const where = `table_schema = ${table.schema === undefined ? 'database()' : session.literal(table.schema)} and table_name = ${session.literal(table.name)}`
  const [found] = await session.rows(
    `select engine as engine from information_schema.tables where ${where}`,
  )
  if (found === undefined)
    throw mismatch(String(table), shape.owner, ['expected a table of this name, found none'])
  const rows = (await session.rows(columnsQuery(where))) as unknown as readonly Row[]
  const documents = await documentColumns(session, where)
  const unique = await session.rows(
    `select json_arrayagg(column_name) as names, sum(sub_part is not null) as parts
      from information_schema.statistics where ${where} and non_unique = 0 group by index_name`,
  )
  const indexes = unique
    .filter(({ parts }) => Number(parts) === 0)
    .map(({ names }) => (typeof names === 'string' ? JSON.parse(names) : names) as string[])
  checkLive(
    {
      name: String(table),
      columns: new Map(rows.map((row) => [row.name, foundColumn(row)])),
      unique: indexes,
      canDelete: shape.isDeleting && (await canDelete(session, table)),
      problems:
        found['engine'] === 'InnoDB'
          ? []
          : [
              `expected the engine InnoDB, which has transactions, found ${String(found['engine'])}`,
            ],
    },
    shape,
  )
  const live = new Map(rows.map((row) => [row.name, row]))
  const columnOf = (name: string): Column => toColumn(live.get(name) as Row, documents)
  return {
    key: shape.key.map(columnOf),
    columns: shape.columns.map(columnOf),
    versions: shape.groups.map(({ version }) =>
      version?.column === undefined ? undefined : columnOf(version.column),
    ),
    required: rows.filter(isRequired).map(({ name }) => name),
    hasOtherUnique: unique.length > 1,
  }
}

function columnsQuery(where: string): string {
  return `select column_name as name, data_type as type, column_type as full, numeric_scale as scale,
    datetime_precision as \`precision\`, is_nullable as nullable, column_default as fallback, extra as extra,
    collation_name as collation, privileges as rights
    from information_schema.columns where ${where} order by ordinal_position`
}

/** MariaDB has no type for JSON: it is a text with a check. */
async function documentColumns(session: Session, where: string): Promise<ReadonlySet<string>> {
  const [version] = await session.rows('select version() as version')
  if (!String(version?.['version']).includes('MariaDB')) return new Set()
  const checks = await session.rows(
    `select check_clause as clause from information_schema.check_constraints
      where ${where.replace('table_schema', 'constraint_schema')}`,
  )
  return new Set(
    checks.flatMap(({ clause }) => /^json_valid\(`(.+)`\)$/.exec(String(clause))?.[1] ?? []),
  )
}

/** What would be deleted is nothing; the right to it is asked for even so. */
async function canDelete(session: Session, table: TableName): Promise<boolean> {
  try {
    await session.run(`delete from ${table.quoted} where false`)
    return true
  } catch (error) {
    if ((error as { readonly errno?: unknown }).errno === 1142) return false
    throw error
  }
}

function isRequired({ nullable, fallback, extra }: Row): boolean {
  return nullable === 'NO' && fallback === null && !/auto_increment|GENERATED/i.test(extra)
}

function foundColumn({ extra, rights, type, precision }: Row): FoundColumn {
  return {
    isGenerated: /(VIRTUAL|STORED|PERSISTENT) ?(GENERATED)?/i.test(extra),
    canRead: rights.includes('select'),
    canWrite: rights.includes('insert') && rights.includes('update'),
    timePrecision: kinds[type] === 'timestamp' ? Number(precision ?? 0) : undefined,
  }
}

const kinds: Readonly<Record<string, Kind>> = {
  tinyint: 'integer',
  smallint: 'integer',
  mediumint: 'integer',
  int: 'integer',
  bigint: 'integer',
  year: 'integer',
  decimal: 'decimal',
  float: 'float',
  double: 'float',
  char: 'text',
  varchar: 'text',
  tinytext: 'text',
  text: 'text',
  mediumtext: 'text',
  longtext: 'text',
  enum: 'text',
  binary: 'bytes',
  varbinary: 'bytes',
  tinyblob: 'bytes',
  blob: 'bytes',
  mediumblob: 'bytes',
  longblob: 'bytes',
  json: 'json',
  datetime: 'timestamp',
  timestamp: 'timestamp',
}

function toColumn(row: Row, documents: ReadonlySet<string>): Column {
  const kind = documents.has(row.name) ? 'json' : (kinds[row.type] ?? 'other')
  return {
    name: row.name,
    kind,
    scale: kind === 'decimal' ? Number(row.scale) : undefined,
    // Also a binary collation looks past blanks at the end.
    sameAs: sameAs(row.type, kind),
    isRequired: isRequired(row),
  }
}
