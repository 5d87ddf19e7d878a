import { errorText, PolluxError } from '../../errors.ts'
import type { Row } from './row.ts'

/** What a gate asks its store for. */
export interface GateDatabase {
  query<R extends object>(text: string, params?: readonly unknown[]): Promise<readonly R[]>
}

/** Names of columns that no fact may have. */
export const ownColumns = ['key', 'opened_at', 'expires_at', 'expired_at'] as const

/** What a table has a column for. */
export interface FactColumn {
  readonly name: string
  readonly isKept: boolean
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
const inMs = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`
const times = ['opened_at', 'expires_at', 'expired_at'] as const

/** What the database gives of a row. */
interface Selected extends Pick<Row, 'key' | 'openedAt' | 'expiresAt' | 'expiredAt'> {
  readonly came: (number | null)[]
  readonly kept: (string | null)[]
}

/** The table of a gate: a row a key, a column a fact. */
export class GateTable {
  readonly #name: string
  readonly #columns: ReadonlyMap<string, string>
  readonly #facts: readonly FactColumn[]
  readonly #selected: string
  readonly #update: string
  readonly statements: readonly string[]

  /** @param name `table` or `schema.table` */
  constructor(name: string, facts: readonly FactColumn[]) {
    this.#facts = facts
    this.#name = name.split('.').map(quoted).join('.')
    this.#columns = new Map([
      ['key', 'text'],
      ...facts.flatMap(({ name: fact, isKept }): [string, string][] => [
        [fact, 'timestamp with time zone'],
        ...(isKept ? [[`${fact}_payload`, 'jsonb'] as [string, string]] : []),
      ]),
      ...times.map((column): [string, string] => [column, 'timestamp with time zone']),
    ])
    this.statements = this.#statements(name.split('.').at(-1) as string)
    const kept = facts.map(({ name: fact, isKept }) =>
      isKept ? `${quoted(`${fact}_payload`)}::text` : 'null',
    )
    this.#selected =
      `key, array[${facts.map((fact) => inMs(quoted(fact.name))).join(', ')}] as came, ` +
      `array[${kept.join(', ')}]::text[] as kept, ${inMs('opened_at')} as "openedAt", ` +
      `${inMs('expires_at')} as "expiresAt", ${inMs('expired_at')} as "expiredAt"`
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
      `insert into ${this.#name} (key, ${columns.join(', ')}) select key, ${values.join(', ')} ` +
      `from unnest($1::text[], ${given.join(', ')}) as v(key, ${written.map((_, index) => `c${index}`).join(', ')}) ` +
      `on conflict (key) do update set ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`
  }

  /**
   * Makes the table where it is missing, and checks its columns.
   * @throws POLLUX_TABLE_INVALID
   */
  async prepare(db: GateDatabase): Promise<void> {
    const found = (await this.#found(db)) ?? (await this.#make(db))
    const wrong = [...this.#columns].filter(([column, type]) => found.get(column) !== type)
    if (wrong.length === 0) return
    const list = (columns: readonly (readonly [string, string | undefined])[]): string =>
      columns.map(([column, type]) => `${column} ${type ?? '(missing)'}`).join(', ')
    const added = wrong.map(([column, type]) => `add column ${quoted(column)} ${type}`)
    throw new PolluxError('POLLUX_TABLE_INVALID', `The table ${this.#name} is not this gate's.`, {
      expected: `the columns ${list(wrong)}`,
      found: list(wrong.map(([column]) => [column, found.get(column)])),
      hint: `Choose another table, or change this one: alter table ${this.#name} ${added.join(', ')}`,
    })
  }

  /** Makes rows for the keys that have none, locks all of them, and gives them. Two who do that wait, and never block each other. */
  async take(
    db: GateDatabase,
    keys: readonly string[],
    expiresAt: number | null,
  ): Promise<readonly Row[]> {
    // In one order, whoever asks: locks that are taken in the same order cannot wait in a circle.
    const rows = await db.query<Selected>(
      `insert into ${this.#name} (key, expires_at)
        select key, to_timestamp($2::float8 / 1000) from unnest($1::text[]) as key order by key collate "C"
        on conflict (key) do update set key = excluded.key returning ${this.#selected}`,
      [keys, expiresAt],
    )
    return rows.map(asRow)
  }

  /** Locks gates that have waited too long, and gives them. Those that somebody else is at are left to the next time. */
  async takeDue(db: GateDatabase, now: number, limit: number): Promise<readonly Row[]> {
    const rows = await db.query<Selected>(
      `select ${this.#selected} from ${this.#name}
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
    const facts = this.#facts.flatMap(({ isKept }, index) => [
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
      `delete from ${this.#name} where key in (select key from ${this.#name}
        where coalesce(opened_at, expired_at) <= to_timestamp($1::float8 / 1000)
        limit $2::int for update skip locked) returning key`,
      [endedBy, limit],
    )
    return rows.length
  }

  async #found(db: GateDatabase): Promise<ReadonlyMap<string, string> | undefined> {
    const rows = await db.query<{ readonly name: string; readonly type: string }>(
      `select attname::text as name, format_type(atttypid, atttypmod) as type from pg_attribute
        where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`,
      [this.#name],
    )
    return rows.length === 0 ? undefined : new Map(rows.map(({ name, type }) => [name, type]))
  }

  async #make(db: GateDatabase): Promise<ReadonlyMap<string, string>> {
    // Two who make the same table at once would collide in the catalogue, `if not exists` or not.
    await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [this.#name])
    try {
      for (const statement of this.statements) await db.query(statement)
    } catch (cause: unknown) {
      // No right to (42501), or no such schema (3F000).
      if (!['42501', '3F000'].includes((cause as { readonly code: string }).code)) throw cause
      throw new PolluxError('POLLUX_TABLE_INVALID', `The table ${this.#name} cannot be made.`, {
        found: errorText(cause),
        hint: `Let somebody who may run:\n${this.statements.join(';\n')}`,
      })
    }
    return (await this.#found(db)) ?? new Map()
  }

  #statements(table: string): readonly string[] {
    const columns = [...this.#columns].map(([column, type]) => `  ${quoted(column)} ${type}`)
    columns[0] += ' primary key'
    return [
      `create table if not exists ${this.#name} (\n${columns.join(',\n')}\n)`,
      `create index if not exists ${quoted(`${table}_due`)} on ${this.#name} (expires_at)
  where opened_at is null and expired_at is null and expires_at is not null`,
      `create index if not exists ${quoted(`${table}_ended`)} on ${this.#name} (coalesce(opened_at, expired_at))
  where coalesce(opened_at, expired_at) is not null`,
    ]
  }
}

function asRow({ kept, ...row }: Selected): Row {
  const parsed = kept.map((text): unknown => (text === null ? undefined : JSON.parse(text)))
  return { ...row, kept: parsed, hasChanged: false }
}
