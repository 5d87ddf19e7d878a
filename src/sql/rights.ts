import { PolluxError } from '../errors.ts'
import type { Sql } from './sql.ts'

/**
 * Checks that this account may use the tables that are there.
 * @throws POLLUX_STORE_FAILED naming each right that is missing.
 */
export async function checkRights(
  sql: Sql,
  { schema, storeName }: { readonly schema: string; readonly storeName: string },
): Promise<void> {
  const rows = await sql.query(missingSql, [schema.slice(1, -1)])
  if (rows.length === 0) return
  throw new PolluxError(
    'POLLUX_STORE_FAILED',
    `This account may not use the tables in schema ${schema} of ${storeName}.`,
    {
      expected: 'all rights to read and write them',
      found: `no right to ${rows.map((row) => String(row['missing'])).join(', ')}`,
      hint:
        `As their owner: grant usage on schema ${schema} to …; grant select, insert, update, delete on all tables ` +
        `in schema ${schema} to …; grant usage on all sequences in schema ${schema} to …; ` +
        `grant execute on all functions in schema ${schema} to …`,
    },
  )
}

// By number, not by name: looking up a name needs rights of its own.
const missingSql = `
  with relation as (
    select pg_class.oid, relname, relkind from pg_class
    join pg_namespace on pg_namespace.oid = relnamespace
    where nspname = $1 and relname in ('pollux_migrations', 'pollux_ledger', 'pollux_state',
      'pollux_inbox', 'pollux_outbox', 'pollux_state_version')
  )
  select 'use the schema' as missing from pg_namespace
  where nspname = $1 and exists (select from relation) and not has_schema_privilege(oid, 'usage')
  union all
  select privilege || ' ' || relname
  from relation cross join unnest(array['select', 'insert', 'update', 'delete']) as privilege
  where relkind = 'r' and not has_table_privilege(oid, privilege)
    and (relname <> 'pollux_migrations' or privilege = 'select')
  union all
  select 'use ' || relname from relation
  -- Not "and": the database is free to ask the other way round, and refuses that for a table.
  where case relkind when 'S' then not has_sequence_privilege(oid, 'usage') else false end
  union all
  select 'execute ' || proname from pg_proc
  join pg_namespace on pg_namespace.oid = pronamespace
  where nspname = $1 and proname like 'pollux\\_%' and not has_function_privilege(pg_proc.oid, 'execute')`
