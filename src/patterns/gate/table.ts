import { Arrivals } from './arrivals.ts'
import { asRow, columnsOf, type FactColumn, quoted, type Selected, selectedOf } from './columns.ts'
import type { Row } from './row.ts'
import { checkTable, TableCheck, type TableIndex, type TableShape } from './table-check.ts'

/** What a gate asks its store for. */
export interface GateDatabase {
  query<R extends object>(text: string, params?: readonly unknown[]): Promise<readonly R[]>
}

/** The table of a gate: a row a key, a column a fact. */
export class GateTable {
  /** As it stands in SQL. */
  readonly name: string
  readonly facts: readonly FactColumn[]
  readonly shape: TableShape
  readonly arrivals: Arrivals
  readonly #check: TableCheck
  readonly #selected: string
  readonly #update: string

  /** @param name `table` or `schema.table` */
  constructor(
    name: string,
    facts: readonly FactColumn[],
    searches: Searches = { open: false, ended: false },
  ) {
    this.facts = facts
    this.shape = shapeOf(name, columnsOf(facts), searches)
    this.name = this.shape.name
    this.#check = new TableCheck(this.shape)
    this.#selected = selectedOf(facts)
    this.arrivals = new Arrivals(this.name, facts)
    const written = [...this.shape.columns].slice(1)
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

  /**
   * Makes what is missing of it, and checks its columns, once for each runtime.
   * @param runtime what the contexts of all its calls share
   * @throws POLLUX_TABLE_INVALID
   */
  async prepare(db: GateDatabase, runtime: object): Promise<void> {
    await this.#check.prepare(db, runtime)
  }

  /** Checks the table and makes nothing. @throws POLLUX_TABLE_INVALID also where it is missing */
  async check(db: GateDatabase): Promise<void> {
    await checkTable(db, this.shape)
  }

  /** Gives rows that this transaction has locked. */
  async locked(db: GateDatabase, keys: readonly string[]): Promise<readonly Row[]> {
    const rows = await db.query<Selected>(
      `select ${this.#selected} from ${this.name} where key = any($1::text[]) for update`,
      [keys],
    )
    return rows.map(asRow)
  }

  /** How many gates wait; counts hardly beyond `most`. */
  async countOpen(db: GateDatabase, most: number): Promise<number> {
    const [row] = await db.query<{ readonly open: number }>(
      `select count(*)::int as open from (select from ${this.name}
        where opened_at is null and expired_at is null limit $1::int8) as waiting`,
      [most + 1_000],
    )
    return row?.open ?? 0
  }

  /** Those that have no row, in their order. */
  async unknownOf(db: GateDatabase, keys: readonly string[]): Promise<readonly string[]> {
    const rows = await db.query<{ readonly key: string }>(
      `select key from ${this.name} where key = any($1::text[])`,
      [keys],
    )
    const known = new Set(rows.map(({ key }) => key))
    return keys.filter((key) => !known.has(key))
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
}

/** What a gate looks for by other things than keys. */
export interface Searches {
  /** Those that wait. */
  readonly open: boolean
  /** Those that ended long ago. */
  readonly ended: boolean
}

function shapeOf(
  name: string,
  columns: ReadonlyMap<string, string>,
  searches: Searches,
): TableShape {
  const lines = [...columns].map(([column, type]) => `  ${quoted(column)} ${type}`)
  lines[0] += ' primary key'
  const places = name.split('.').map(quoted)
  const index = (ending: string, definition: string): TableIndex => {
    const own = quoted(`${name.split('.').at(-1)}_${ending}`)
    return {
      name: [...places.slice(0, -1), own].join('.'),
      statement: `create index if not exists ${own} on ${places.join('.')} ${definition}`,
    }
  }
  return {
    name: places.join('.'),
    columns,
    // Room in each page, so that a fact needs no new entry in any index.
    statement: `create table if not exists ${places.join('.')} (\n${lines.join(',\n')}\n) with (fillfactor = 70)`,
    indexes: [
      ...(searches.open
        ? [index('open', '(expires_at)\n  where opened_at is null and expired_at is null')]
        : []),
      ...(searches.ended
        ? [
            index(
              'ended',
              '(coalesce(opened_at, expired_at))\n  where coalesce(opened_at, expired_at) is not null',
            ),
          ]
        : []),
    ],
  }
}
