import { type Duration, milliseconds } from '../../duration.ts'
import type { Option } from '../../options.ts'

/** Where reading begins. */
export type StartPosition =
  | { readonly kind: 'earliest' }
  | { readonly kind: 'latest' }
  | { readonly kind: 'offset'; readonly offset: number }
  | { readonly kind: 'last'; readonly count: number }
  | { readonly kind: 'ago'; readonly ms: number }
  | { readonly kind: 'time'; readonly timestamp: number }

/** `--from` */
export const startPosition: Pick<Option<StartPosition>, 'expected' | 'read'> = {
  expected:
    'earliest, latest, an offset, -10 (the last 10), -10m (a time ago), a time such as 2026-11-30T08:00:00Z, or @ and milliseconds since 1970',
  read(value) {
    const text = String(value)
    if (text === 'earliest' || text === 'latest') return { kind: text }
    if (/^\d+$/.test(text)) return safe(Number(text), (offset) => ({ kind: 'offset', offset }))
    if (/^-\d+$/.test(text))
      return safe(Number(text.slice(1)), (count) => ({ kind: 'last', count }))
    if (/^@\d+$/.test(text))
      return safe(Number(text.slice(1)), (timestamp) => ({ kind: 'time', timestamp }))
    if (text.startsWith('-')) return ago(text.slice(1))
    return time(text)
  },
}

function safe(
  number: number,
  position: (number: number) => StartPosition,
): StartPosition | undefined {
  return Number.isSafeInteger(number) ? position(number) : undefined
}

function ago(text: string): StartPosition | undefined {
  try {
    return { kind: 'ago', ms: milliseconds(text as Duration) }
  } catch {
    return undefined
  }
}

const isoTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/

function time(text: string): StartPosition | undefined {
  const timestamp = isoTime.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(timestamp) ? undefined : { kind: 'time', timestamp }
}
