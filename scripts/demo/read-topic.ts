import { decodeMessage } from '../../src/engine/message.ts'
import type { Message } from '../../src/message.ts'
import type { Broker } from '../../src/ports/broker.ts'
import type { AnyTopic, MessageOf } from '../../src/topic.ts'

/** All messages that a topic holds now, by partition and offset. */
export async function readTopic<T extends AnyTopic>(
  broker: Broker,
  topic: T,
): Promise<readonly MessageOf<T>[]> {
  const ranges = await broker.admin.ranges([topic.name])
  const ends = new Map(ranges.map(({ partition, latest }) => [partition, latest]))
  let missing = ranges.reduce((sum, { earliest, latest }) => sum + latest - earliest, 0)
  const messages: Message[] = []
  const reader = await broker.reader(
    ranges.map(({ partition, earliest }) => ({ topic: topic.name, partition, offset: earliest })),
  )
  try {
    while (missing > 0) {
      for (const record of await reader.poll(1_000)) {
        // Written after the ends were looked up.
        if (record.offset >= (ends.get(record.partition) ?? 0)) continue
        messages.push(await decodeMessage(record, topic))
        missing -= 1
      }
    }
  } finally {
    await reader.close()
  }
  messages.sort((a, b) => a.partition - b.partition || Number(a.offset - b.offset))
  return messages as MessageOf<T>[]
}
