import { type Duration, milliseconds } from '../../duration.ts'
import { PolluxError, shown } from '../../errors.ts'
import type { Service } from '../../service.ts'
import { asRow, quoted, type Selected, selectedOf } from './columns.ts'
import type { Row } from './row.ts'
import type { GateDatabase, GateTable } from './table.ts'

/** What a gate's row says. Times are in milliseconds since 1970. */
export interface GateState {
  readonly key: string
  /** `waiting` also after the deadline, until the service has looked. */
  readonly stage: 'waiting' | 'opened' | 'expired'
  readonly facts: readonly FactState[]
  /** The facts that have not come. */
  readonly missing: readonly string[]
  /** When the first fact came. */
  readonly since: number | null
  readonly openedAt: number | null
  readonly expiresAt: number | null
  readonly expiredAt: number | null
}

export interface FactState {
  readonly name: string
  readonly cameAt: number | null
  /** What was kept of it; undefined where nothing is. */
  readonly payload: unknown
}

/** Which of the gates that wait. */
export interface WaitingFilter {
  /** The name of a fact that they have not. */
  readonly missing?: string
  /** How long they have waited at least, by the database's clock. */
  readonly olderThan?: Duration
  /** Default 100. */
  readonly limit?: number
}

/** What looks into the table of a gate. It locks nothing, and makes nothing. */
export interface Gates {
  /** As it stands in SQL. */
  readonly table: string
  readonly facts: readonly string[]
  /** Gates that wait, those that have waited longest first. */
  waiting(filter?: WaitingFilter): Promise<readonly GateState[]>
  /** Undefined for a key without a gate: none of its facts has come, or it was forgotten. */
  find(key: string): Promise<GateState | undefined>
}

/** What runs SQL: a pool of `pg`, PGlite, the `db` of `postgresTransaction`. */
interface Database {
  query(text: string, params: unknown[]): Promise<unknown>
}

// Also when the service was made by another copy of this package.
const mark = Symbol.for('pollux.gate')

/** The service, from which `gates` finds the table again. */
export function markGate(service: Service, table: GateTable): Service {
  return Object.defineProperty({ ...service }, mark, { value: table, enumerable: true })
}

/** Whether the service was made by `gate`. */
export function isGate(service: Service): boolean {
  return tableOf(service) !== undefined
}

function tableOf(service: Service): GateTable | undefined {
  return (service as { readonly [mark]?: GateTable })[mark]
}

/**
 * Looks into the table of a gate. Its methods reject with POLLUX_TABLE_INVALID while the table is missing or another's.
 * @throws POLLUX_OPTION_INVALID for a service that was not made by `gate`.
 */
export function gates(service: Service, db: Database): Gates {
  const table = tableOf(service)
  if (table === undefined)
    throw new PolluxError('POLLUX_OPTION_INVALID', 'gates() looks into gates alone.', {
      expected: 'a service made by gate()',
      found: shown((service as Partial<Service> | undefined)?.name),
    })
  const database = withRows(db)
  const { name, facts } = table
  const names = facts.map((fact) => fact.name)
  const since = `least(${names.map(quoted).join(', ')})`
  const ask = async (where: string, params: unknown[]): Promise<readonly GateState[]> => {
    await table.check(database)
    const rows = await database.query<Selected>(
      `select ${selectedOf(facts)} from ${name} where ${where}`,
      params,
    )
    return rows.map((row) => stateOf(names, asRow(row)))
  }
  return {
    table: name,
    facts: names,
    waiting: async ({ missing, olderThan, limit = 100 } = {}) => {
      if (missing !== undefined && !names.includes(missing))
        throw new PolluxError('POLLUX_OPTION_INVALID', `There is no fact ${shown(missing)}.`, {
          expected: names.map(shown).join(', '),
        })
      return await ask(
        `opened_at is null and expired_at is null
          ${missing === undefined ? '' : `and ${quoted(missing)} is null`}
          ${olderThan === undefined ? '' : `and ${since} <= now() - $2::float8 * interval '1 millisecond'`}
        order by ${since}, key collate "C" limit $1::int8`,
        [limit, ...(olderThan === undefined ? [] : [milliseconds(olderThan)])],
      )
    },
    find: async (key) => (await ask('key = $1', [key]))[0],
  }
}

function stateOf(names: readonly string[], row: Row): GateState {
  const { key, came, kept, openedAt, expiresAt, expiredAt } = row
  const first = Math.min(...came.map((at) => at ?? Number.POSITIVE_INFINITY))
  return {
    key,
    stage: openedAt !== null ? 'opened' : expiredAt !== null ? 'expired' : 'waiting',
    facts: names.map((name, index) => ({
      name,
      cameAt: came[index] ?? null,
      payload: kept[index],
    })),
    missing: names.filter((_, index) => came[index] === null),
    since: Number.isFinite(first) ? first : null,
    openedAt,
    expiresAt,
    expiredAt,
  }
}

/** Some give the rows as they are, others as a part of their answer. */
function withRows(db: Database): GateDatabase {
  return {
    query: async <R extends object>(text: string, params: readonly unknown[] = []) => {
      const answer = (await db.query(text, [...params])) as
        | readonly R[]
        | { readonly rows: readonly R[] }
      return 'rows' in answer ? answer.rows : answer
    },
  }
}
