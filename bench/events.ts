import { randomUUID } from 'node:crypto'
import type { OutgoingRecord } from '../src/ports/broker.ts'
import { record } from './workload.ts'

/** How many keys the input of a service with a store has. */
export const distinctKeys = 20_000

/** Record number `index` with an id, as a producer writes it that wants its duplicates dropped. */
export function eventRecord(topic: string, index: number): OutgoingRecord {
  const id = { name: 'id', value: Buffer.from(randomUUID()) }
  return { ...record(topic, index, distinctKeys), headers: [id] }
}
