import type { OutgoingRecord } from '../ports/broker.ts'

// What librdkafka counts at most beside key, value and headers: lengths, attributes, deltas as variable-length numbers.
const frame = 36
// The length of a header's name, and of its value.
const headerFrame = 10

/** The bytes of a record as librdkafka compares them with `message.max.bytes`. */
export function recordBytes({ key, value, headers }: OutgoingRecord): number {
  let bytes = frame + (key?.length ?? 0) + (value?.length ?? 0)
  for (const { name, value: header } of headers)
    bytes += headerFrame + Buffer.byteLength(name) + (header?.length ?? 0)
  return bytes
}
