import { PolluxError } from '../errors.ts'
import { decodeHeaders, encodeHeaders } from '../header-bytes.ts'
import type { OutgoingRecord } from '../ports/broker.ts'

// Records as one byte string: a number for the form; then for each record its topic, key, value and
// headers, each with its length before it (-1 for null), and 8 bytes each for partition and
// timestamp (not a number: none). Lengths are 32-bit; all numbers are big-endian.
const form = 1
/** Four lengths, partition and timestamp. */
const fixedBytes = 4 * 4 + 2 * 8

/** @throws RangeError for more than 2^31 bytes. */
export function encodeOutputs(records: readonly OutgoingRecord[]): Buffer {
  const headers = records.map((record) => encodeHeaders(record.headers))
  let size = 1
  for (const [index, { topic, key, value }] of records.entries()) {
    const bytes = Buffer.byteLength(topic) + (key?.length ?? 0) + (value?.length ?? 0)
    size += fixedBytes + bytes + (headers[index]?.length ?? 0)
  }
  const bytes = Buffer.allocUnsafe(size)
  let at = bytes.writeUInt8(form, 0)
  const put = (part: Uint8Array | null): void => {
    at = bytes.writeInt32BE(part === null ? -1 : part.length, at)
    if (part === null) return
    bytes.set(part, at)
    at += part.length
  }
  for (const [index, { topic, partition, key, value, timestamp }] of records.entries()) {
    put(Buffer.from(topic))
    put(key)
    put(value)
    put(headers[index] ?? null)
    at = bytes.writeDoubleBE(partition ?? Number.NaN, at)
    at = bytes.writeDoubleBE(timestamp ?? Number.NaN, at)
  }
  return bytes
}

/**
 * So many records, which share the memory of `bytes`.
 * @throws POLLUX_STORE_FAILED for damaged bytes.
 */
export function decodeOutputs(bytes: Buffer, count: number): OutgoingRecord[] {
  try {
    const records = decoded(bytes)
    if (records.length === count) return records
    throw new RangeError(`There are ${records.length} records, not ${count}.`)
  } catch (cause: unknown) {
    throw new PolluxError('POLLUX_STORE_FAILED', 'Outputs that were stored cannot be read.', {
      expected: 'bytes that this version of Pollux has written',
      found: `${bytes.length} others; they are damaged, or a newer version has written them`,
      hint: 'Restore pollux_outbox. To give up these outputs, delete their row.',
      cause,
    })
  }
}

function decoded(bytes: Buffer): OutgoingRecord[] {
  if (bytes.readUInt8(0) !== form) throw new RangeError(`The form is ${bytes[0]}, not ${form}.`)
  let at = 1
  const take = (): Buffer | null => {
    const length = bytes.readInt32BE(at)
    at += 4
    if (length < 0) return null
    if (at + length > bytes.length) throw new RangeError('The bytes are cut off.')
    at += length
    return bytes.subarray(at - length, at)
  }
  const takeNumber = (): number | undefined => {
    const number = bytes.readDoubleBE(at)
    at += 8
    return Number.isNaN(number) ? undefined : number
  }
  const records: OutgoingRecord[] = []
  while (at < bytes.length) {
    const topic = take()
    if (topic === null) throw new RangeError('A record has no topic.')
    const [key, value, headers] = [take(), take(), decodeHeaders(take())]
    const [partition, timestamp] = [takeNumber(), takeNumber()]
    records.push({ topic: topic.toString(), partition, key, value, headers, timestamp })
  }
  return records
}
