import type { RowShape } from '../../ports/target.ts'
import type { Column, Kind } from '../../rows/cell.ts'
import { checkLive, type FoundColumn, mismatch } from '../../rows/live-check.ts'
import { sameAs } from '../../rows/same-as.ts'
import type { Sql } from '../../sql/sql.ts'
import type { TableName } from './table-name.ts'

/** A column, and its type as statements name it. */
export interface PostgresColumn extends Column {
  readonly type: string
}

/** The live table, as far as the sidecar knows it. */
export interface PostgresLive {
  readonly key: readonly PostgresColumn[]
  readonly columns: readonly PostgresColumn[]
  /** By group; undefined where a group has no column for its version. */
  readonly versions: readonly (PostgresColumn | undefined)[]
  /** Names of columns that a new row cannot do without. */
  readonly required: readonly string[]
}

interface Row {
  readonly name: string
  readonly type: string
  readonly base: string
  readonly category: string
  readonly scale: number | null
  readonly is_required: boolean
  readonly is_generated: boolean
  readonly is_plain_text: boolean
  readonly can_read: boolean
  readonly can_insert: boolean
  readonly can_update: boolean
}

/**
 * Reads what the table is like, and compares it with what is declared.
 * @throws POLLUX_TARGET_MISMATCH with all that is wrong.
 */
export async function readLive(sql: Sql, table: TableName, shape: RowShape): Promise<PostgresLive> {
  const [found] = await sql.query(tableQuery, [table.schema ?? null, table.name])
  if (found === undefined)
    throw mismatch(String(table), shape.owner, ['expected a table of this name, found none'])
  const rows = (await sql.query(columnsQuery, [found['oid']])) as unknown as readonly Row[]
  const indexes = await sql.query(uniqueQuery, [found['oid']])
  const live = new Map(rows.map((row) => [row.name, row]))
  checkLive(
    {
      name: String(table),
      columns: new Map(rows.map((row) => [row.name, foundColumn(row)])),
      unique: indexes.map(({ names }) => names as readonly string[]),
      canDelete: found['can_delete'] === true,
      problems: [],
    },
    shape,
  )
  const columnOf = (name: string): PostgresColumn => toColumn(live.get(name) as Row)
  return {
    key: shape.key.map(columnOf),
    columns: shape.columns.map(columnOf),
    versions: shape.groups.map(({ version }) =>
      version?.column === undefined ? undefined : columnOf(version.column),
    ),
    required: rows.filter(({ is_required }) => is_required).map(({ name }) => name),
  }
}

function foundColumn(row: Row): FoundColumn {
  return {
    isGenerated: row.is_generated,
    canRead: row.can_read,
    canWrite: row.can_insert && row.can_update,
    timePrecision: kinds[row.base] === 'timestamp' ? (row.scale ?? 6) : undefined,
  }
}

const kinds: Readonly<Record<string, Kind>> = {
  int2: 'integer',
  int4: 'integer',
  int8: 'integer',
  numeric: 'decimal',
  float4: 'float',
  float8: 'float',
  bool: 'boolean',
  text: 'text',
  varchar: 'text',
  bpchar: 'text',
  citext: 'text',
  bytea: 'bytes',
  json: 'json',
  jsonb: 'json',
  timestamp: 'timestamp',
  timestamptz: 'timestamp',
}

function toColumn(row: Row): PostgresColumn {
  const kind = row.category === 'A' ? 'array' : (kinds[row.base] ?? 'other')
  return {
    name: row.name,
    type: row.type,
    kind,
    scale: kind === 'decimal' ? (row.scale ?? undefined) : undefined,
    sameAs: row.is_plain_text ? undefined : sameAs(row.base, kind),
    isRequired: row.is_required,
  }
}

const tableQuery = `
select c.oid, has_table_privilege(c.oid, 'delete') as can_delete
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relname = $2 and c.relkind in ('r', 'p')
  and case when $1::text is null then pg_table_is_visible(c.oid) else n.nspname = $1 end`

// The scale of a numeric(p, s) or timestamp(s) is in the type's modifier. Domains are looked through. Types are named without
// their length, as a cast to varchar(5) cuts off what is longer; with null in the place of -1, that of a char(5) would be
// `character`, which means a length of 1.
const columnsQuery = `
select a.attname::text as name, format_type(a.atttypid, -1) as type, b.typname::text as base,
  b.typcategory::text as category,
  case when m.modifier < 0 then null when b.typname = 'numeric' then ((m.modifier - 4) & 65535)::int4
    when b.typname in ('timestamp', 'timestamptz') then m.modifier end as scale,
  (a.attnotnull or t.typnotnull) and not a.atthasdef and a.attidentity = '' and t.typdefault is null as is_required,
  a.attgenerated <> '' or a.attidentity = 'a' as is_generated,
  b.typname in ('text', 'varchar') and coalesce(l.collisdeterministic, true) as is_plain_text,
  has_column_privilege(a.attrelid, a.attnum, 'select') as can_read,
  has_column_privilege(a.attrelid, a.attnum, 'insert') as can_insert,
  has_column_privilege(a.attrelid, a.attnum, 'update') as can_update
from pg_attribute a
join pg_type t on t.oid = a.atttypid
join pg_type b on b.oid = case t.typtype when 'd' then t.typbasetype else t.oid end
cross join lateral (select case t.typtype when 'd' then t.typtypmod else a.atttypmod end as modifier) m
left join pg_collation l on l.oid = a.attcollation
where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped
order by a.attnum`

const uniqueQuery = `
select (select json_agg(a.attname order by k.place)
  from unnest(i.indkey[0:i.indnkeyatts - 1]) with ordinality as k (number, place)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number) as names
from pg_index i
where i.indrelid = $1 and i.indisunique and i.indisvalid and i.indimmediate
  and i.indpred is null and i.indexprs is null`
