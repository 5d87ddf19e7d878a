import { type ErrorCode, PolluxError } from '../errors.ts'
import { inTransaction } from './in-transaction.ts'
import { type Migration, migrations } from './migrations.ts'
import { readInteger } from './rows.ts'
import type { Sql, SqlConnection } from './sql.ts'

/** Where the tables live, and the error code for tables that a newer Pollux made. */
export interface MigrationTarget {
  /** A quoted identifier. */
  readonly schema: string
  readonly newerCode: ErrorCode
  readonly storeName: string
}

/**
 * Brings the tables up to date, each step in a transaction of its own. Several processes may do it
 * at once.
 */
export async function migrate(
  connection: SqlConnection,
  target: MigrationTarget,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  let pending = true
  while (pending)
    pending = await inTransaction(connection, (sql) => migrateOnce(sql, target, steps))
}

/** Applies the next step; false when there is none. */
async function migrateOnce(
  sql: Sql,
  target: MigrationTarget,
  steps: readonly Migration[],
): Promise<boolean> {
  const { schema } = target
  // Two processes that start at the same moment would both make the tables, and one would fail.
  await sql.query(`select pg_advisory_xact_lock(hashtext('pollux migrations'))`)
  const applied = await appliedNumber(sql, schema)
  const newest = steps.at(-1)?.number ?? 0
  if (applied > newest) throw newer(target, applied, newest)
  const step = steps.find(({ number }) => number > applied)
  if (step === undefined) return false
  for (const statement of step.statements(schema)) await sql.query(statement)
  await sql.query(`insert into ${schema}.pollux_migrations (number, name) values ($1, $2)`, [
    String(step.number),
    step.name,
  ])
  return true
}

/** The last step applied; makes schema and table where they are missing. */
async function appliedNumber(sql: Sql, schema: string): Promise<number> {
  const [found] = await sql.query(
    `select to_regnamespace($1) is not null as schema, to_regclass($2) is not null as migrations`,
    [schema, `${schema}.pollux_migrations`],
  )
  // Not `if not exists`: that needs the right to make schemas even where there is nothing to make.
  if (found?.schema !== true) await sql.query(`create schema ${schema}`)
  if (found?.migrations !== true) {
    await sql.query(`create table ${schema}.pollux_migrations (
      number int4 primary key,
      name text not null,
      applied_at timestamptz not null default now()
    )`)
  }
  const [row] = await sql.query(
    `select coalesce(max(number), 0) as number from ${schema}.pollux_migrations`,
  )
  return readInteger(row?.number)
}

function newer(target: MigrationTarget, applied: number, newest: number): PolluxError {
  return new PolluxError(
    target.newerCode,
    `The tables in schema ${target.schema} of ${target.storeName} were made by a newer version of Pollux.`,
    {
      expected: `migration ${newest} or lower`,
      found: `migration ${applied}`,
      hint: 'Use that version of Pollux, or another folder or schema.',
    },
  )
}
