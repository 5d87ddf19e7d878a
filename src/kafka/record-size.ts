import { PolluxError } from '../errors.ts'
import type { OutgoingRecord } from '../ports/broker.ts'

// What librdkafka counts at most beside key, value and headers: lengths, attributes, deltas as variable-length numbers.
const frame = 36
// The length of a header's name, and of its value.
const headerFrame = 10

/** The bytes of a record as librdkafka compares them with `message.max.bytes`. */
function recordBytes({ key, value, headers }: OutgoingRecord): number {
  let bytes = frame + (key?.length ?? 0) + (value?.length ?? 0)
  for (const { name, value: header } of headers)
    bytes += headerFrame + Buffer.byteLength(name) + (header?.length ?? 0)
  return bytes
}

/** Why the client would refuse a record for its size; undefined when it would not. */
export function checkSize(record: OutgoingRecord, maxBytes: number): PolluxError | undefined {
  const bytes = recordBytes(record)
  if (bytes <= maxBytes) return undefined
  return new PolluxError(
    'POLLUX_RECORD_TOO_LARGE',
    `A record for topic ${record.topic} is too large.`,
    {
      expected: `at most ${maxBytes} bytes with its headers`,
      found: `${bytes} bytes`,
      hint: 'Make it smaller, or raise message.max.bytes of the client, and of the broker or topic.',
    },
  )
}
