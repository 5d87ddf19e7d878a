import { randomInt } from 'node:crypto'
import type { OutgoingRecord } from '../../src/ports/broker.ts'

/** What the contestant is told. */
export interface GateTask {
  /** Consumer group, and name of the service. */
  readonly group: string
  /** A topic a fact. */
  readonly inputs: readonly string[]
  readonly output: string
  /** Each has one fact of each topic. */
  readonly keys: number
  /** The schema for store and gates in PostgreSQL. */
  readonly schema?: string
  /** Where PGlite and the embedded broker keep their files, when it is not PostgreSQL and Kafka. */
  readonly folder?: string
}

/** One fact of each topic for each key, about 200 bytes each, all of them in a random order. */
export function factRecords(inputs: readonly string[], keys: number): OutgoingRecord[] {
  const records = inputs.flatMap((topic, fact) =>
    Array.from(
      { length: keys },
      (_, index): OutgoingRecord => ({
        topic,
        partition: undefined,
        key: Buffer.from(`book-${index}`),
        value: Buffer.from(JSON.stringify({ fact, cents: index, note: 'x'.repeat(140) })),
        headers: [],
        timestamp: undefined,
      }),
    ),
  )
  for (let left = records.length - 1; left > 0; left -= 1) {
    const other = randomInt(left + 1)
    const [one, two] = [records[left], records[other]]
    if (one !== undefined && two !== undefined) [records[left], records[other]] = [two, one]
  }
  return records
}
