import { type ErrorCode, PolluxError } from '../errors.ts'
import type { MigrationStep } from '../ports/store.ts'
import { inTransaction } from './in-transaction.ts'
import { type Migration, migrations } from './migrations.ts'
import { readInteger } from './rows.ts'
import type { Sql, SqlConnection } from './sql.ts'
import { sqlState } from './sql-errors.ts'

/** Where the tables live, and the error code for tables that a newer Pollux made. */
export interface MigrationTarget {
  /** A quoted identifier. */
  readonly schema: string
  readonly newerCode: ErrorCode
  readonly storeName: string
}

/** What there is in the database. */
interface Progress {
  readonly hasSchema: boolean
  readonly hasTable: boolean
  /** The last step that was applied; 0: none. */
  readonly applied: number
  /** Programs need to know this step to work with the tables. */
  readonly needed: number
}

/**
 * Brings the tables up to date, each step in a transaction of its own, and gives the steps that were
 * taken. Several processes may do it at once.
 */
export async function migrate(
  connection: SqlConnection,
  target: MigrationTarget,
  steps: readonly Migration[] = migrations,
): Promise<readonly MigrationStep[]> {
  const taken: MigrationStep[] = []
  // Without a lock, and without a right to change anything, when there is nothing to do.
  while ((await pendingSteps(connection, target, steps)).length > 0) {
    const step = await inTransaction(connection, (sql) => takeNext(sql, target, steps))
    if (step !== undefined) taken.push(step)
  }
  return taken
}

/** The steps that `migrate` would take, with all that it would execute. */
export async function pendingSteps(
  sql: Sql,
  target: MigrationTarget,
  steps: readonly Migration[] = migrations,
): Promise<readonly MigrationStep[]> {
  const progress = await progressOf(sql, target)
  const newest = steps.at(-1)?.number ?? 0
  if (progress.needed > newest) throw newer(target, progress.needed, newest)
  return steps
    .filter(({ number }) => number > progress.applied)
    .map((step, index) => ({
      number: step.number,
      name: step.name,
      statements: [
        ...(index === 0 ? preparation(progress, target.schema) : []),
        ...step.statements(target.schema),
        `insert into ${target.schema}.pollux_migrations (number, name, needed)
      values (${step.number}, '${step.name}', ${step.needed})`,
      ],
    }))
}

/** @throws POLLUX_MIGRATION_NEEDED when the tables are not up to date. */
export async function checkMigrated(sql: Sql, target: MigrationTarget): Promise<void> {
  const [first] = await pendingSteps(sql, target)
  if (first === undefined) return
  throw needed(target, `step ${first.number} (${first.name}) has not been taken`)
}

async function takeNext(
  sql: Sql,
  target: MigrationTarget,
  steps: readonly Migration[],
): Promise<MigrationStep | undefined> {
  // Two processes that start at the same moment would both make the tables, and one would fail.
  await sql.query(`select pg_advisory_xact_lock(hashtext('pollux migrations'))`)
  const [step] = await pendingSteps(sql, target, steps)
  if (step === undefined) return undefined
  try {
    for (const statement of step.statements) await sql.query(statement)
  } catch (error) {
    if (sqlState(error) !== '42501') throw error
    throw needed(target, `step ${step.number} (${step.name}) has not been taken`, error as Error)
  }
  return step
}

// Not `if not exists`: that needs the right to make schemas even where there is nothing to make.
function preparation({ hasSchema, hasTable }: Progress, schema: string): string[] {
  return [
    ...(hasSchema ? [] : [`create schema ${schema}`]),
    ...(hasTable
      ? []
      : [
          `create table ${schema}.pollux_migrations (
      number int4 primary key,
      name text not null,
      needed int4 not null,
      applied_at timestamptz not null default now()
    )`,
        ]),
  ]
}

async function progressOf(sql: Sql, { schema }: MigrationTarget): Promise<Progress> {
  const [found] = await sql.query(
    `select count(*) as schemas, count(pg_class.oid) as tables
    from pg_namespace left join pg_class
      on pg_class.relnamespace = pg_namespace.oid and pg_class.relname = 'pollux_migrations'
    where pg_namespace.nspname = $1`,
    [schema.slice(1, -1)],
  )
  const hasSchema = readInteger(found?.['schemas']) > 0
  const hasTable = readInteger(found?.['tables']) > 0
  if (!hasTable) return { hasSchema, hasTable, applied: 0, needed: 0 }
  const [row] = await sql.query(
    `select coalesce(max(number), 0) as applied, coalesce(max(needed), 0) as needed
    from ${schema}.pollux_migrations`,
  )
  return {
    hasSchema,
    hasTable,
    applied: readInteger(row?.['applied']),
    needed: readInteger(row?.['needed']),
  }
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

function needed(target: MigrationTarget, found: string, refusal?: Error): PolluxError {
  const reason = refusal === undefined ? '' : `, and this account may not: ${refusal.message}`
  return new PolluxError(
    'POLLUX_MIGRATION_NEEDED',
    `The tables in schema ${target.schema} of ${target.storeName} are not up to date.`,
    {
      expected: 'all migrations of this version',
      found: `that ${found}${reason}`,
      hint:
        'Run `pollux migrate` with an account that may create tables there ' +
        '(`grant create on database …`, or on the schema where it exists).',
    },
  )
}
