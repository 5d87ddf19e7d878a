import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { OutgoingRecord } from '../src/ports/broker.ts'

/** The business logic, the same for all contestants. */
export interface Reading {
  readonly symbol: string
  readonly price: number
  readonly volume: number
  readonly note: string
}

export function transform(reading: Reading): Reading {
  return { ...reading, price: reading.price * 2 }
}

/** Trusts its JSON, as the hand-written loops do. */
export const anyReading: StandardSchemaV1<Reading> = {
  '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value: value as Reading }) },
}

/** Record number `index`, of about 200 bytes, with one of `keys` keys. */
export function record(topic: string, index: number, keys: number): OutgoingRecord {
  const reading: Reading = {
    symbol: `S${index % keys}`,
    price: (index % 10_000) / 100,
    volume: index,
    note: 'x'.repeat(140),
  }
  return {
    topic,
    partition: undefined,
    key: Buffer.from(reading.symbol),
    value: Buffer.from(JSON.stringify(reading)),
    headers: [],
    timestamp: undefined,
  }
}
