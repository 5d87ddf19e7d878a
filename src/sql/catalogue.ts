import { shown } from '../errors.ts'
import type { Sql } from './sql.ts'

/** A part of the tables, such as `column epoch of pollux_ledger`, and how it is declared. */
export type Catalogue = ReadonlyMap<string, string>

/** How the tables of a schema are declared, as the database knows it. */
export async function readCatalogue(sql: Sql, schema: string): Promise<Catalogue> {
  const rows = await sql.query(catalogueSql, [schema])
  return new Map(
    rows.map(({ part, declaration }) => [
      String(part),
      // The bodies of functions name their schema.
      String(declaration).replaceAll(`"${schema}".`, ''),
    ]),
  )
}

/** A sentence for each part that is missing, declared otherwise, or too many. */
export function differences(expected: Catalogue, found: Catalogue): string[] {
  const sentences: string[] = []
  for (const [part, declaration] of expected) {
    const other = found.get(part)
    if (other === undefined) sentences.push(`There is no ${part}.`)
    else if (other !== declaration) sentences.push(otherwise(part, declaration, other))
  }
  // More tables and functions may be somebody's own; a column more may refuse our rows.
  const tables = [...expected.keys()].filter((part) => part.startsWith('table '))
  for (const part of found.keys()) {
    const isOurs = tables.some((table) => part.endsWith(` of ${table.slice('table '.length)}`))
    if (isOurs && !expected.has(part)) sentences.push(`There is a ${part} that is not ours.`)
  }
  return sentences
}

function otherwise(part: string, declaration: string, other: string): string {
  // A function's text is too long to be shown.
  return part.startsWith('function ')
    ? `The ${part} has been changed.`
    : `The ${part} is declared as ${shown(other)}, expected ${shown(declaration)}.`
}

const catalogueSql = `
  with relation as (
    select pg_class.oid, relname, relkind, relpersistence from pg_class
    join pg_namespace on pg_namespace.oid = relnamespace
    where nspname = $1 and relname like 'pollux\\_%'
  )
  select case relkind when 'S' then 'sequence ' else 'table ' end || relname as part,
    case relpersistence when 'p' then 'logged' else 'not logged' end as declaration
  from relation where relkind in ('r', 'p', 'S')
  union all
  select 'column ' || attname || ' of ' || relname,
    format_type(atttypid, atttypmod)
      || coalesce(' collate ' || nullif(collname, 'default'), '')
      || case when attnotnull then ' not null' else '' end
      || coalesce(' default ' || pg_get_expr(adbin, adrelid), '')
  from relation
  join pg_attribute on attrelid = relation.oid and attnum > 0 and not attisdropped
  left join pg_collation on pg_collation.oid = attcollation
  left join pg_attrdef on adrelid = relation.oid and adnum = attnum
  where relkind in ('r', 'p')
  union all
  select 'key of ' || relname, pg_get_constraintdef(pg_constraint.oid)
  from relation join pg_constraint on conrelid = relation.oid and contype = 'p'
  union all
  select 'function ' || proname || '(' || pg_get_function_identity_arguments(pg_proc.oid) || ')',
    concat_ws(' ', pg_get_function_result(pg_proc.oid), lanname, provolatile, proconfig, prosrc)
  from pg_proc
  join pg_namespace on pg_namespace.oid = pronamespace
  join pg_language on pg_language.oid = prolang
  where nspname = $1 and proname like 'pollux\\_%'`
