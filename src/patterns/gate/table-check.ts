import { errorText, PolluxError } from '../../errors.ts'
import { quoted } from './columns.ts'
import type { GateDatabase } from './table.ts'

/** A table as it has to be. */
export interface TableShape {
  /** As it stands in SQL. */
  readonly name: string
  readonly columns: ReadonlyMap<string, string>
  /** What makes it. */
  readonly statement: string
  readonly indexes: readonly TableIndex[]
}

export interface TableIndex {
  /** As it stands in SQL. */
  readonly name: string
  /** What makes it. */
  readonly statement: string
}

/** Sees to it that the table is there, for all transactions of a runtime. */
export class TableCheck {
  readonly #shape: TableShape
  /** The runtimes, by their loggers, that have found the table: one may be on another database than the next. */
  readonly #settled = new WeakSet<object>()
  /** The transaction that has made something: it may yet be taken back. */
  #making: string | undefined

  constructor(shape: TableShape) {
    this.#shape = shape
  }

  /**
   * Makes what is missing of the table and its indexes, and checks its columns.
   * @throws POLLUX_TABLE_INVALID
   */
  async prepare(db: GateDatabase, runtime: object): Promise<void> {
    if (this.#settled.has(runtime)) return
    const { indexes, statement } = this.#shape
    const found = await columnsIn(db, this.#shape)
    if (found !== undefined) checkColumns(this.#shape, found)
    const there = await indexesIn(db, indexes)
    const missing = indexes.filter(({ name }) => !there.names.includes(name))
    if (found !== undefined && missing.length === 0) {
      if (there.transaction === null || there.transaction !== this.#making)
        this.#settled.add(runtime)
      return
    }
    const statements = missing.map((index) => index.statement)
    this.#making = await make(
      db,
      this.#shape,
      found === undefined ? [statement, ...statements] : statements,
    )
    // Somebody else may have made it meanwhile, and otherwise.
    if (found === undefined)
      checkColumns(this.#shape, (await columnsIn(db, this.#shape)) ?? new Map())
  }
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

/** Which of them are there, and the transaction that asks; null while it has written nothing. */
async function indexesIn(
  db: GateDatabase,
  indexes: readonly TableIndex[],
): Promise<{ readonly names: readonly string[]; readonly transaction: string | null }> {
  const [row] = await db.query<{ names: readonly string[]; transaction: string | null }>(
    `select array(select name from unnest($1::text[]) as name where to_regclass(name) is not null) as names,
      pg_current_xact_id_if_assigned()::text as transaction`,
    [indexes.map(({ name }) => name)],
  )
  return row ?? { names: [], transaction: null }
}

/** Resolves to the transaction that it was made in. */
async function make(
  db: GateDatabase,
  { name }: TableShape,
  statements: readonly string[],
): Promise<string | undefined> {
  // Two who make the same table at once would collide in the catalogue, `if not exists` or not.
  const [row] = await db.query<{ readonly transaction: string }>(
    `select pg_current_xact_id()::text as transaction
      from pg_advisory_xact_lock(hashtextextended($1, 0))`,
    [name],
  )
  try {
    for (const statement of statements) await db.query(statement)
  } catch (cause: unknown) {
    // No right to (42501), or no such schema (3F000).
    if (!['42501', '3F000'].includes((cause as { readonly code: string }).code)) throw cause
    throw new PolluxError(
      'POLLUX_TABLE_INVALID',
      `The table ${name} cannot be made as it should be.`,
      {
        found: errorText(cause),
        hint: `Let somebody who may run:\n${statements.join(';\n')}`,
      },
    )
  }
  return row?.transaction
}
