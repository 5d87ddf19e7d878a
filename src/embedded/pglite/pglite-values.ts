import type { PGlite, PGliteOptions } from '@electric-sql/pglite'

/** Types as PostgreSQL numbers them. */
const bytea = 17
const int8 = 20
const date = 1082
/** `bytea[]`, `int4[]`, `text[]` and `int8[]`. */
const arrays = [1001, 1007, 1009, 1016]

/**
 * How single values are written and read where PGlite's ways differ from those of the driver for
 * PostgreSQL, or are slow: what runs on PGlite today is to run on PostgreSQL tomorrow.
 */
export const valueOptions: Pick<PGliteOptions, 'parsers' | 'serializers'> = {
  parsers: {
    [bytea]: (text) => Buffer.from(text.slice('\\x'.length), 'hex'),
    // A number could not hold all of them.
    [int8]: (text) => text,
    // Midnight here, not in Greenwich.
    [date]: (text) => (/^\d{4}-/.test(text) ? new Date(`${text}T00:00:00`) : text),
  },
  serializers: {
    [bytea]: (bytes: Uint8Array) =>
      `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`,
  },
}

/** Lets arrays through that are in PostgreSQL's binary form already. */
export function passBinaryArrays({ serializers }: PGlite): void {
  for (const type of arrays) {
    const serialize = serializers[type]
    // Bytes are passed on by the driver, which only says that all serializers give text.
    serializers[type] = (value: unknown) =>
      value instanceof Uint8Array ? (value as unknown as string) : (serialize?.(value) ?? '')
  }
}
