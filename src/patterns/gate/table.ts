import { asRow, columnsOf, type FactColumn, quoted, type Selected, selectedOf } from './columns.ts'
import type { Row } from './row.ts'
import { checkTable, prepareTable, type TableShape } from './table-check.ts'

/** What a gate asks its store for. */
export interface GateDatabase {
  query<R extends object>(text: string, params?: readonly unknown[]): Promise<readonly R[]>
}

/** The table of a gate: a row a key, a column a fact. */
export class GateTable {
  /** As it stands in SQL. */
  readonly name: string
  readonly facts: readonly FactColumn[]
  readonly #columns: ReadonlyMap<string, string>
  readonly #selected: string
  readonly #update: string
  readonly statements: readonly string[]

  /** @param name `table` or `schema.table` */
  constructor(name: string, facts: readonly FactColumn[]) {
    this.facts = facts
    this.name = name.split('.').map(quoted).join('.')
    this.#columns = columnsOf(facts)
    this.statements = this.#statements(name.split('.').at(-1) as string)
    this.#selected = selectedOf(facts)
    const written = [...this.#columns].slice(1)
    const columns = written.map(([column]) => quoted(column))
    const values = written.map(([, type], index) =>
      type === 'jsonb' ? `c${index}::jsonb` : `to_timestamp(c${index} / 1000)`,
    )
    const given = written.map(
      ([, type], index) => `$${index + 2}::${type === 'jsonb' ? 'text' : 'float8'}[]`,
    )
    // Not `update … from`: without statistics, as of a new table, that is planned as a scan for each row.
    this.#update =
      `insert into ${this.name} (key, ${columns.join(', ')}) select key, ${values.join(', ')} ` +
      `from unnest($1::text[], ${given.join(', ')}) as v(key, ${written.map((_, index) => `c${index}`).join(', ')}) ` +
      `on conflict (key) do update set ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`
  }

  /** Makes the table where it is missing, and checks its columns. @throws POLLUX_TABLE_INVALID */
  async prepare(db: GateDatabase): Promise<void> {
    await prepareTable(db, this.#shape)
  }

  /** Checks the table and makes nothing. @throws POLLUX_TABLE_INVALID also where it is missing */
  async check(db: GateDatabase): Promise<void> {
    await checkTable(db, this.#shape)
  }

  get #shape(): TableShape {
    return { name: this.name, columns: this.#columns, statements: this.statements }
  }

  /** Makes rows for the keys that have none, locks all of them, and gives them. Two who do that wait, and never block each other. */
  async take(
    db: GateDatabase,
    keys: readonly string[],
    expiresAt: number | null,
  ): Promise<readonly Row[]> {
    // In one order, whoever asks: locks that are taken in the same order cannot wait in a circle.
    const rows = await db.query<Selected>(
      `insert into ${this.name} (key, expires_at)
        select key, to_timestamp($2::float8 / 1000) from unnest($1::text[]) as key order by key collate "C"
        on conflict (key) do update set key = excluded.key returning ${this.#selected}`,
      [keys, expiresAt],
    )
    return rows.map(asRow)
  }

  /** Locks gates that have waited too long, and gives them. Those that somebody else is at are left to the next time. */
  async takeDue(db: GateDatabase, now: number, limit: number): Promise<readonly Row[]> {
    const rows = await db.query<Selected>(
      `select ${this.#selected} from ${this.name}
        where expires_at <= to_timestamp($1::float8 / 1000) and opened_at is null and expired_at is null
        order by expires_at limit $2::int for update skip locked`,
      [now, limit],
    )
    return rows.map(asRow)
  }

  /** Writes rows that were taken and have changed. */
  async write(db: GateDatabase, rows: readonly Row[]): Promise<void> {
    const changed = rows.filter(({ hasChanged }) => hasChanged)
    if (changed.length === 0) return
    const facts = this.facts.flatMap(({ isKept }, index) => [
      changed.map(({ came }) => came[index] ?? null),
      ...(isKept ? [changed.map(({ kept }) => JSON.stringify(kept[index]) ?? null)] : []),
    ])
    const ends = (['openedAt', 'expiresAt', 'expiredAt'] as const).map((end) =>
      changed.map((row) => row[end]),
    )
    await db.query(this.#update, [changed.map(({ key }) => key), ...facts, ...ends])
  }

  /** Removes gates that ended by then; resolves to how many. */
  async forget(db: GateDatabase, endedBy: number, limit: number): Promise<number> {
    const rows = await db.query(
      `delete from ${this.name} where key in (select key from ${this.name}
        where coalesce(opened_at, expired_at) <= to_timestamp($1::float8 / 1000)
        limit $2::int for update skip locked) returning key`,
      [endedBy, limit],
    )
    return rows.length
  }

  #statements(table: string): readonly string[] {
    const columns = [...this.#columns].map(([column, type]) => `  ${quoted(column)} ${type}`)
    columns[0] += ' primary key'
    return [
      `create table if not exists ${this.name} (\n${columns.join(',\n')}\n)`,
      `create index if not exists ${quoted(`${table}_due`)} on ${this.name} (expires_at)
  where opened_at is null and expired_at is null and expires_at is not null`,
      `create index if not exists ${quoted(`${table}_ended`)} on ${this.name} (coalesce(opened_at, expired_at))
  where coalesce(opened_at, expired_at) is not null`,
    ]
  }
}
