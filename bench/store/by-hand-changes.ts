import type { BatchConsumer } from '../by-hand-consumer.ts'
import { type Reading, transform } from '../workload.ts'
import { eventId } from './by-hand-tables.ts'

/** A batch as it was fetched, and what it does. */
export interface Batch {
  readonly messages: Awaited<ReturnType<BatchConsumer['take']>>
  readonly changes: readonly Change[]
}

/** What one message does: its event's id, and its key's new value. */
export interface Change {
  readonly id: string
  readonly key: Buffer
  readonly value: Buffer
}

/** Fetches a batch and computes its changes; both are empty when there is nothing to fetch. */
export async function nextBatch(consumer: BatchConsumer, size: number): Promise<Batch> {
  const messages = await consumer.take(size)
  const changes = messages.map(({ key, value, headers }) => {
    const reading = JSON.parse(String(value)) as Reading
    const changed = Buffer.from(JSON.stringify(transform(reading)))
    return { id: eventId(headers), key: key as Buffer, value: changed }
  })
  return { messages, changes }
}
