import type { Row } from './row.ts'

/** Names of columns that no fact may have. */
export const ownColumns = ['key', 'opened_at', 'expires_at', 'expired_at'] as const

/** What a table has a column for. */
export interface FactColumn {
  readonly name: string
  readonly isKept: boolean
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

// Below milliseconds there is something of ours: see `arrivals.ts`.
const inMs = (column: string): string => `floor(extract(epoch from ${column}) * 1000)::float8`
const times = ['opened_at', 'expires_at', 'expired_at'] as const

/** What the database gives of a row. */
export interface Selected extends Pick<Row, 'key' | 'openedAt' | 'expiresAt' | 'expiredAt'> {
  readonly came: (number | null)[]
  readonly kept: (string | null)[]
}

/** The columns of a gate's table, with their types, in their order. */
export function columnsOf(facts: readonly FactColumn[]): ReadonlyMap<string, string> {
  return new Map([
    ['key', 'text'],
    ...facts.flatMap(({ name, isKept }): [string, string][] => [
      [name, 'timestamp with time zone'],
      ...(isKept ? [[`${name}_payload`, 'jsonb'] as [string, string]] : []),
    ]),
    ...times.map((column): [string, string] => [column, 'timestamp with time zone']),
  ])
}

/** What was kept of each fact, as texts, for `parsedOf`. */
export function keptOf(facts: readonly FactColumn[]): string {
  const kept = facts.map(({ name, isKept }) =>
    isKept ? `${quoted(`${name}_payload`)}::text` : 'null',
  )
  return `array[${kept.join(', ')}]::text[]`
}

/** What stands behind `select` or `returning` for `asRow`. */
export function selectedOf(facts: readonly FactColumn[]): string {
  return (
    `key, array[${facts.map(({ name }) => inMs(quoted(name))).join(', ')}] as came, ` +
    `${keptOf(facts)} as kept, ${inMs('opened_at')} as "openedAt", ` +
    `${inMs('expires_at')} as "expiresAt", ${inMs('expired_at')} as "expiredAt"`
  )
}

export function asRow({ kept, ...row }: Selected): Row {
  return { ...row, kept: parsedOf(kept), hasChanged: false }
}

export function parsedOf(kept: readonly (string | null)[]): unknown[] {
  return kept.map((text): unknown => (text === null ? undefined : JSON.parse(text)))
}
