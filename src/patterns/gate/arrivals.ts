import { type FactColumn, keptOf, parsedOf, quoted } from './columns.ts'
import type { GateDatabase } from './table.ts'

/** The first fact of a key in a batch. */
export interface FirstArrival {
  readonly key: string
  /** Which of the facts. */
  readonly index: number
  readonly kept: unknown
}

/** What it came to for a gate that was waiting, or that it began. */
export interface Taken {
  /** It was not there yet. */
  readonly isNew: boolean
  /** It is the only one that is there. */
  readonly isOnly: boolean
  /** What was kept of each fact, of a gate that has become complete and is marked as open; undefined: it still waits. */
  readonly completed: readonly unknown[] | undefined
}

interface Answer {
  readonly key: string
  readonly isNew: boolean
  readonly isOnly: boolean
  readonly kept: readonly (string | null)[] | null
}

/**
 * Stores facts by one statement: most of them need nothing else. It begins gates, adds to those that wait, and marks those as
 * open that are complete.
 */
export class Arrivals {
  readonly #statement: string
  #count = 0

  /** @param table as it stands in SQL */
  constructor(table: string, facts: readonly FactColumn[]) {
    const now = 'to_timestamp($4::float8 / 1000)'
    const columns = facts.flatMap(({ name, isKept }, index) => {
      const column = quoted(name)
      const came = {
        column,
        first: `case when fact = ${index} then ${now} end`,
        next: `coalesce(g.${column}, excluded.${column})`,
      }
      if (!isKept) return [came]
      const payload = quoted(`${name}_payload`)
      const first = `case when fact = ${index} then payload::jsonb end`
      const next = `case when excluded.${column} is null then g.${payload} else excluded.${payload} end`
      return [came, { column: payload, first, next }]
    })
    const names = facts.map(({ name }) => quoted(name))
    const all = names.map((name) => `coalesce(g.${name}, excluded.${name})`)
    const opened = {
      column: 'opened_at',
      first: names.length === 1 ? now : 'null::timestamptz',
      next: `case when num_nulls(${all.join(', ')}) = 0 then ${now} end`,
    }
    const written = [...columns, opened]
    // In one order, whoever asks: locks that are taken in the same order cannot wait in a circle. Rows that the condition
    // leaves out are locked, too.
    this.#statement = `insert into ${table} as g (key, expires_at, ${written.map(({ column }) => column).join(', ')})
      select key, to_timestamp($5::float8 / 1000), ${written.map(({ first }) => first).join(', ')}
        from unnest($1::text[], $2::int4[], $3::text[]) as given (key, fact, payload) order by key collate "C"
      on conflict (key) do update set ${written.map(({ column, next }) => `${column} = ${next}`).join(', ')}
        where g.opened_at is null and g.expired_at is null
          and (g.expires_at is null or g.expires_at > ${now})
      returning key, coalesce(${now} in (${names.join(', ')}), false) as "isNew",
        num_nonnulls(${names.join(', ')}) = 1 as "isOnly",
        case when opened_at is not null then ${keptOf(facts)} end as kept`
  }

  /**
   * Stores one fact of each key, and locks the rows. Keys that are missing in what it gives have gates that have opened or
   * expired, or have to: nothing was changed there.
   */
  async store(
    db: GateDatabase,
    arrivals: readonly FirstArrival[],
    now: number,
    expiresAt: number | null,
  ): Promise<ReadonlyMap<string, Taken>> {
    const rows = await db.query<Answer>(this.#statement, [
      arrivals.map(({ key }) => key),
      arrivals.map(({ index }) => index),
      arrivals.map(({ kept }) => JSON.stringify(kept) ?? null),
      this.#stamped(now),
      expiresAt,
    ])
    return new Map(
      rows.map(({ key, kept, isNew, isOnly }) => [
        key,
        { isNew, isOnly, completed: kept === null ? undefined : parsedOf(kept) },
      ]),
    )
  }

  /**
   * What PostgreSQL gives back of an update is the new row alone (before 18). The microseconds of a time are therefore of no
   * clock, but other ones in each statement: a fact with just this time is one that this statement has brought.
   */
  #stamped(now: number): number {
    this.#count = (this.#count % 999) + 1
    return Math.floor(now) + this.#count / 1_000
  }
}
