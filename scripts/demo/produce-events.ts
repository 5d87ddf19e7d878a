import { encodeRecord } from '../../src/engine/outputs.ts'
import type { Broker, OutgoingRecord } from '../../src/ports/broker.ts'
import { messagesOf } from '../../src/testing/logs.ts'
import type { OutputMessage } from '../../src/topic.ts'
import { Failure } from '../kafka/failure.ts'
import { Progress } from './progress.ts'

const batchSize = 200

/**
 * Writes the events that their topics do not hold yet. It may have been killed at any moment before: what a topic holds of
 * a key is always the first events of that key, since they share a partition and each batch is acknowledged before the next
 * is sent.
 */
export async function produceEvents(
  broker: Broker,
  events: readonly OutputMessage[],
  stop: AbortSignal,
): Promise<void> {
  const missing = await missingRecords(broker, events)
  if (missing.length === 0) return
  const progress = new Progress('Writing events ', events.length)
  const before = events.length - missing.length
  const producer = await broker.producer()
  let written = 0
  try {
    while (written < missing.length && !stop.aborted) {
      const batch = missing.slice(written, written + batchSize)
      const [refusal] = await producer.send(batch)
      if (refusal !== undefined) throw refusal.error
      written += batch.length
      progress.update(before + written)
    }
  } finally {
    progress.end()
    await producer.close()
  }
}

async function missingRecords(
  broker: Broker,
  events: readonly OutputMessage[],
): Promise<readonly OutgoingRecord[]> {
  const records = events.map(encodeRecord)
  const wanted = Map.groupBy(records, keyOf)
  const present = new Map<string, number>()
  for (const topic of new Set(events.map((event) => event.topic))) {
    for (const { raw } of (await messagesOf(broker, topic)) as readonly { raw: Keyed }[]) {
      const key = keyOf(raw)
      const index = present.get(key) ?? 0
      const record = wanted.get(key)?.[index]
      // A key of the user's own, or an event after those of the demo.
      if (record === undefined) continue
      if (String(record.value) !== String(raw.value)) throw strangeEvent(record, raw)
      present.set(key, index + 1)
    }
  }
  return records.filter((record) => {
    const count = present.get(keyOf(record)) ?? 0
    present.set(keyOf(record), count - 1)
    return count <= 0
  })
}

type Keyed = Pick<OutgoingRecord, 'topic' | 'key' | 'value'>

function keyOf({ topic, key }: Keyed): string {
  return `${topic} ${String(key)}`
}

function strangeEvent(expected: Keyed, found: Keyed): Failure {
  return new Failure(
    `The topic ${expected.topic} holds events that are not this demo's: expected ${String(expected.value)} ` +
      `of ${String(expected.key)}, found ${String(found.value)}. Start over with --reset.`,
  )
}
