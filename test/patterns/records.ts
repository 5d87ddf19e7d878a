import type { RawMessage } from '../../src/index.ts'
import type { Broker, OutgoingRecord } from '../../src/ports/broker.ts'

/** Writes records as bytes. */
export async function write(
  broker: Broker,
  topic: string,
  ...records: readonly Partial<OutgoingRecord>[]
): Promise<void> {
  const producer = await broker.producer()
  const defaults = { topic, partition: undefined, key: null, headers: [], timestamp: undefined }
  const refused = await producer.send(
    records.map((record) => ({ ...defaults, value: null, ...record })),
  )
  await producer.close()
  if (refused[0] !== undefined) throw refused[0].error
}

/** All records of a topic, by partition and offset. */
export async function read(broker: Broker, topic: string): Promise<RawMessage[]> {
  const ranges = await broker.admin.ranges([topic])
  const reader = await broker.reader(
    ranges.map(({ partition, earliest }) => ({ topic, partition, offset: earliest })),
  )
  const wanted = ranges.reduce((sum, { earliest, latest }) => sum + latest - earliest, 0)
  const records: RawMessage[] = []
  while (records.length < wanted) records.push(...(await reader.poll(1_000)))
  await reader.close()
  return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
}
