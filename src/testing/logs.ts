import { decodeMessage } from '../engine/message.ts'
import { encodeRecord } from '../engine/outputs.ts'
import type { Message, RawMessage } from '../message.ts'
import type { Broker } from '../ports/broker.ts'
import type { AnyTopic, MessageOf, OutputMessage } from '../topic.ts'

/** Writes messages, in order. Resolves when they are acknowledged. */
export async function sendTo(broker: Broker, ...messages: readonly OutputMessage[]): Promise<void> {
  const producer = await broker.producer()
  try {
    const [refusal] = await producer.send(messages.map(encodeRecord))
    if (refusal !== undefined) throw refusal.error
  } finally {
    await producer.close()
  }
}

/** All messages of a topic that no transactions were written to, by partition and offset. */
export async function messagesOf<T extends AnyTopic>(
  broker: Broker,
  topic: T,
): Promise<MessageOf<T>[]> {
  const records = await recordsOf(broker, topic)
  const messages: Message[] = await Promise.all(
    records.map(async (record) => decodeMessage(record, topic)),
  )
  return messages as MessageOf<T>[]
}

async function recordsOf(broker: Broker, { name }: AnyTopic): Promise<RawMessage[]> {
  const ranges = await broker.admin.ranges([name])
  const reader = await broker.reader(
    ranges.map(({ topic, partition, earliest }) => ({ topic, partition, offset: earliest })),
  )
  const wanted = ranges.reduce((sum, { earliest, latest }) => sum + latest - earliest, 0)
  const records: RawMessage[] = []
  try {
    while (records.length < wanted) records.push(...(await reader.poll(1_000)))
  } finally {
    await reader.close()
  }
  return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
}

/**
 * Whether services have come to the ends of all logs that they read. Positions are read before the ends: equal means
 * that nothing was left when the ends were read.
 */
export async function areSettled(
  { admin }: Pick<Broker, 'admin'>,
  services: readonly {
    readonly name: string
    readonly inputs: readonly { readonly name: string }[]
  }[],
): Promise<boolean> {
  const groups = await Promise.all(services.map(({ name }) => admin.group(name)))
  const ranges = await Promise.all(
    services.map(({ inputs }) => admin.ranges(inputs.map(({ name }) => name))),
  )
  return ranges.every((partitions, index) =>
    partitions.every(({ topic, partition, latest }) =>
      groups[index]?.offsets.some(
        (committed) =>
          committed.topic === topic &&
          committed.partition === partition &&
          committed.offset === latest,
      ),
    ),
  )
}
