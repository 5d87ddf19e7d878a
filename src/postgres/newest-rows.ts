import { PolluxError, shown } from '../errors.ts'
import { checkMethods, checkObject, Problems } from '../options.ts'
import { type Queryable, quoted, rowsOf } from './queryable.ts'

/** A table with a row for each id, of which the newest version stands. */
export interface NewestRowsOptions {
  /** What runs SQL: a pool of `pg`, PGlite, or the `db` of a handler. */
  readonly db: Queryable
  readonly table: string
  /** Default: where the session finds the table. */
  readonly schema?: string
  /** The column of the key, which is a text. Default `id`. */
  readonly id?: string
  /** The column of the version, a `bigint`. Default: none, and the last write stands. */
  readonly version?: string
}

/** What each row has, beside the values. */
export interface NewestRow {
  readonly id: string
  /** Needed where the table has a column for it. An older one than the row's changes nothing. */
  readonly version?: number | bigint
}

/** A column and its values for each row, written as texts of a type. */
export interface TextColumn<R> {
  readonly name: string
  readonly type: string
  text(row: R): string
}

/** Writes rows in one statement, and takes them away. */
export class NewestRows<R extends NewestRow> {
  readonly #options: NewestRowsOptions
  readonly #columns: readonly TextColumn<R>[]
  /** As it stands in SQL. */
  readonly table: string
  /** As it stands in SQL. */
  readonly id: string
  readonly #upsert: string

  constructor(options: NewestRowsOptions, columns: readonly TextColumn<R>[]) {
    const { table, schema, id = 'id', version } = options
    this.#options = options
    this.table = quoted(schema, table)
    this.id = quoted(id)
    this.#columns =
      version === undefined
        ? columns
        : [...columns, { name: version, type: 'bigint', text: (row) => String(row.version) }]
    this.#upsert = this.#statement()
  }

  #statement(): string {
    const names = this.#columns.map(({ name }) => quoted(name))
    const given = this.#columns.map((_, index) => `c${index}`)
    const version = this.#options.version && quoted(this.#options.version)
    return `
      insert into ${this.table} as present (${[this.id, ...names].join(', ')})
      select id, ${this.#columns.map(({ type }, index) => `c${index}::${type}`).join(', ')}
      from unnest($1::text[], ${given.map((_, index) => `$${index + 2}::text[]`).join(', ')})
        as given (id, ${given.join(', ')})
      on conflict (${this.id}) do update
      set ${names.map((name) => `${name} = excluded.${name}`).join(', ')}
      ${version === undefined ? '' : `where present.${version} is null or present.${version} <= excluded.${version}`}`
  }

  /** Makes or replaces a row for each id; of several for an id the newest, else the last. */
  async upsert(rows: readonly R[]): Promise<void> {
    // One statement cannot change a row twice.
    const newest = new Map<string, R>()
    for (const row of rows) {
      this.#check(row)
      const other = newest.get(row.id)
      if (other === undefined || BigInt(row.version ?? 0) >= BigInt(other.version ?? 0))
        newest.set(row.id, row)
    }
    if (newest.size === 0) return
    const list = [...newest.values()]
    const columns = this.#columns.map(({ text }) => list.map((row) => text(row)))
    await this.run(this.#upsert, [list.map(({ id }) => id), ...columns])
  }

  #check({ id, version }: R): void {
    if (this.#options.version === undefined || version !== undefined) return
    throw new PolluxError('POLLUX_OPTION_INVALID', `The row ${shown(id)} has no version.`, {
      expected: `a number or bigint for the column ${this.#options.version}`,
      found: 'undefined',
    })
  }

  /** Takes rows away; those that are not there are none the less gone. */
  async remove(ids: readonly string[]): Promise<void> {
    await this.run(`delete from ${this.table} where ${this.id} = any($1::text[])`, [ids])
  }

  run<Row>(text: string, params: unknown[]): Promise<readonly Row[]> {
    return rowsOf<Row>(this.#options.db, text, params)
  }
}

/** Checks what all tables have. @throws POLLUX_OPTION_INVALID */
export function checkTable(
  what: string,
  options: NewestRowsOptions,
  more: (problems: Problems) => void = () => {},
): void {
  checkObject(what, options, '{ db, table }')
  const problems = new Problems()
  checkMethods('db', options.db, ['query'], 'a pool of the package pg', problems)
  if (typeof options.table !== 'string' || options.table === '')
    problems.add(`table: expected a name, found ${shown(options.table)}`)
  more(problems)
  problems.throwIfAny(`The options of ${what} are wrong`)
}
