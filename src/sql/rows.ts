import { PolluxError, shown } from '../errors.ts'
import type { OffsetRange } from '../ports/store.ts'

/** The text of an `int8multirange[]`. */
export function rangesArray(values: readonly (readonly OffsetRange[])[]): string {
  return `{${values.map((ranges) => `"${multirange(ranges)}"`).join(',')}}`
}

function multirange(ranges: readonly OffsetRange[]): string {
  return `{${ranges.map(({ from, to }) => `[${from},${to})`).join(',')}}`
}

/** Reads a `bytea`; drivers give a Uint8Array or a Buffer. */
export function readBytes(value: unknown): Buffer {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  throw unexpected('bytes', value)
}

/** Reads an `int8`; drivers give a number, a bigint or text. */
export function readInteger(value: unknown): number {
  const number = typeof value === 'number' ? value : Number(value)
  if (value !== null && Number.isSafeInteger(number)) return number
  throw unexpected('a whole number up to 2^53 - 1', value)
}

/** Reads the text of an `int8multirange`, which PostgreSQL always writes as `{[1,3),[5,9)}`. */
export function readRanges(value: unknown): OffsetRange[] {
  if (typeof value !== 'string') throw unexpected('ranges of offsets', value)
  return [...value.matchAll(/\[(\d+),(\d+)\)/g)].map(([, from, to]) => ({
    from: readInteger(from),
    to: readInteger(to),
  }))
}

export function unexpected(expected: string, found: unknown): PolluxError {
  return new PolluxError(
    'POLLUX_STORE_FAILED',
    'The database holds something else than the store wrote.',
    {
      expected,
      found: shown(found),
    },
  )
}
