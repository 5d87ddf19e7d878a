import { errorText, PolluxError } from '../../errors.ts'
import { quoted } from './columns.ts'
import type { GateDatabase } from './table.ts'

/** A table as it has to be. */
export interface TableShape {
  /** As it stands in SQL. */
  readonly name: string
  readonly columns: ReadonlyMap<string, string>
  /** What makes it, with its indexes. */
  readonly statements: readonly string[]
}

/**
 * Makes the table where it is missing, and checks its columns.
 * @throws POLLUX_TABLE_INVALID
 */
export async function prepareTable(db: GateDatabase, shape: TableShape): Promise<void> {
  checkColumns(shape, (await columnsIn(db, shape)) ?? (await make(db, shape)))
}

/**
 * Checks the table and makes nothing.
 * @throws POLLUX_TABLE_INVALID also where it is missing
 */
export async function checkTable(db: GateDatabase, shape: TableShape): Promise<void> {
  const found = await columnsIn(db, shape)
  if (found !== undefined) return checkColumns(shape, found)
  throw new PolluxError('POLLUX_TABLE_INVALID', `There is no table ${shape.name}.`, {
    hint: 'The first fact of the gate makes it. Is this the database that its service runs on?',
  })
}

function checkColumns({ name, columns }: TableShape, found: ReadonlyMap<string, string>): void {
  const wrong = [...columns].filter(([column, type]) => found.get(column) !== type)
  if (wrong.length === 0) return
  const list = (some: readonly (readonly [string, string | undefined])[]): string =>
    some.map(([column, type]) => `${column} ${type ?? '(missing)'}`).join(', ')
  const added = wrong.map(([column, type]) => `add column ${quoted(column)} ${type}`)
  throw new PolluxError('POLLUX_TABLE_INVALID', `The table ${name} is not this gate's.`, {
    expected: `the columns ${list(wrong)}`,
    found: list(wrong.map(([column]) => [column, found.get(column)])),
    hint: `Choose another table, or change this one: alter table ${name} ${added.join(', ')}`,
  })
}

async function columnsIn(
  db: GateDatabase,
  { name }: TableShape,
): Promise<ReadonlyMap<string, string> | undefined> {
  const rows = await db.query<{ readonly name: string; readonly type: string }>(
    `select attname::text as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`,
    [name],
  )
  return rows.length === 0 ? undefined : new Map(rows.map((row) => [row.name, row.type]))
}

async function make(db: GateDatabase, shape: TableShape): Promise<ReadonlyMap<string, string>> {
  const { name, statements } = shape
  // Two who make the same table at once would collide in the catalogue, `if not exists` or not.
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
  try {
    for (const statement of statements) await db.query(statement)
  } catch (cause: unknown) {
    // No right to (42501), or no such schema (3F000).
    if (!['42501', '3F000'].includes((cause as { readonly code: string }).code)) throw cause
    throw new PolluxError('POLLUX_TABLE_INVALID', `The table ${name} cannot be made.`, {
      found: errorText(cause),
      hint: `Let somebody who may run:\n${statements.join(';\n')}`,
    })
  }
  return (await columnsIn(db, shape)) ?? new Map()
}
