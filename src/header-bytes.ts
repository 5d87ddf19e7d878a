import type { Header } from './message.ts'

/**
 * Headers as one byte string: for each its name's length, the name, its value's length (-1 for null), the value.
 * Lengths are 32-bit, little-endian. No headers are null.
 */
export function encodeHeaders(headers: readonly Header[]): Buffer | null {
  if (headers.length === 0) return null
  const parts: Uint8Array[] = []
  for (const { name, value } of headers) {
    const bytes = Buffer.from(name)
    parts.push(int32(bytes.length), bytes, int32(value === null ? -1 : value.length))
    if (value !== null) parts.push(value)
  }
  return Buffer.concat(parts)
}

/** @throws RangeError for bytes that `encodeHeaders` did not make. */
export function decodeHeaders(bytes: Buffer | null): readonly Header[] {
  const headers: Header[] = []
  if (bytes === null) return headers
  let at = 0
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError('The stored headers are cut off.')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const name = take(take(4).readInt32LE()).toString()
    const length = take(4).readInt32LE()
    headers.push({ name, value: length < 0 ? null : take(length) })
  }
  return headers
}

function int32(number: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32LE(number)
  return bytes
}
