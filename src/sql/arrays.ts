import { unexpected } from './rows.ts'

// Arrays travel in PostgreSQL's binary form, which is the same for all drivers and needs no text to
// be written, escaped and read again: number of dimensions, a flag for nulls, the elements' type,
// length, first index; then each element's length (-1 for null) and bytes. Integers are big-endian.

const types = { bytea: 17, int8: 20, int4: 23, text: 25 } as const
const headerBytes = 20

/** A `bytea[]`. */
export function byteaArray(values: readonly (Uint8Array | null)[]): Buffer {
  let size = 0
  for (const value of values) size += value === null ? 0 : value.length
  const array = begun(types.bytea, values.length, size)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : value.length, at)
    if (value === null) continue
    array.set(value, at)
    at += value.length
  }
  return array
}

/** A `text[]`. */
export function textArray(values: readonly (string | null)[]): Buffer {
  let size = 0
  for (const value of values) size += value === null ? 0 : Buffer.byteLength(value)
  const array = begun(types.text, values.length, size)
  let at = headerBytes
  for (const value of values) {
    const length = value === null ? -1 : array.write(value, at + 4)
    array.writeInt32BE(length, at)
    at += 4 + Math.max(length, 0)
  }
  return array
}

/** An `int4[]`. */
export function int4Array(values: readonly number[]): Buffer {
  const array = begun(types.int4, values.length, 4 * values.length)
  let at = headerBytes
  for (const value of values) at = array.writeInt32BE(value, array.writeInt32BE(4, at))
  return array
}

/** An `int8[]`. */
export function int8Array(values: readonly (number | null)[]): Buffer {
  const nulls = values.filter((value) => value === null).length
  const array = begun(types.int8, values.length, 8 * (values.length - nulls))
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : 8, at)
    if (value === null) continue
    at = array.writeInt32BE(Math.floor(value / 2 ** 32), at)
    at = array.writeUInt32BE(value >>> 0, at)
  }
  return array
}

/** With room for `length` elements of `size` bytes together. */
function begun(type: number, length: number, size: number): Buffer {
  // An array without elements has no dimension.
  const array = Buffer.allocUnsafe(length === 0 ? 12 : headerBytes + 4 * length + size)
  array.writeInt32BE(length === 0 ? 0 : 1, 0)
  // Whether there are nulls is found out by the reader; the flag is only a hint.
  array.writeInt32BE(0, 4)
  array.writeInt32BE(type, 8)
  if (length === 0) return array
  array.writeInt32BE(length, 12)
  array.writeInt32BE(1, 16)
  return array
}

/** The elements of a `bytea[]` or `text[]` that `array_send` has written; they share its memory. */
export function readArray(bytes: Buffer): (Buffer | null)[] {
  return readElements(bytes, (at, size) => bytes.subarray(at, at + size))
}

/** The same for an `int8[]`. */
export function readInt8Array(bytes: Buffer): (number | null)[] {
  return readElements(bytes, (at, size) => {
    if (size !== 8) throw unexpected('whole numbers of 8 bytes', bytes)
    return bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
  })
}

/** The same for a `boolean[]`. */
export function readBooleanArray(bytes: Buffer): (boolean | null)[] {
  return readElements(bytes, (at) => bytes[at] === 1)
}

function readElements<T>(bytes: Buffer, read: (at: number, size: number) => T): (T | null)[] {
  if (bytes.readInt32BE(0) === 0) return []
  const length = bytes.readInt32BE(12)
  const values = new Array<T | null>(length)
  let at = headerBytes
  for (let index = 0; index < length; index += 1) {
    const size = bytes.readInt32BE(at)
    at += 4
    values[index] = size < 0 ? null : read(at, size)
    at += Math.max(size, 0)
  }
  if (at !== bytes.length) throw unexpected('an array', bytes)
  return values
}
