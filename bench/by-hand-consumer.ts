import { once } from 'node:events'
import kafkaClient from '@confluentinc/kafka-javascript'
import { brokers } from './kafka-topics.ts'

/** What the hand-written loops need of a consumer: a batch, and to commit it. */
export interface BatchConsumer {
  /** Up to `max` messages; fewer, or none, when there are no more within 100 ms. */
  take(max: number): Promise<kafkaClient.Message[]>
  /** Stores the positions after these messages. */
  commit(batch: readonly kafkaClient.Message[]): Promise<void>
  close(): Promise<void>
}

/** Enters a group that starts at the beginning. */
export async function joinGroup(group: string, topic: string): Promise<BatchConsumer> {
  const consumer = new kafkaClient.KafkaConsumer(
    {
      'bootstrap.servers': brokers.join(','),
      'group.id': group,
      'enable.auto.commit': false,
      // So that a group whose consumer went without a word can be removed soon.
      'session.timeout.ms': 6_000,
      'partition.assignment.strategy': 'cooperative-sticky',
      'queued.max.messages.kbytes': 16_384,
      'fetch.max.bytes': 16 * 1024 ** 2,
    },
    { 'auto.offset.reset': 'earliest' },
  )
  consumer.setDefaultConsumeTimeout(100)
  consumer.connect()
  await once(consumer, 'ready')
  consumer.subscribe([topic])
  const take: BatchConsumer['take'] = (max) =>
    new Promise((resolve, reject) => {
      consumer.consume(max, (error, batch) => (error ? reject(error) : resolve(batch)))
    })
  return {
    take,
    commit: (batch) => commit(consumer, batch),
    async close() {
      consumer.unsubscribe()
      // Closed before its partitions are given up, it would not tell the group.
      while (consumer.assignments().length > 0) await take(1)
      await new Promise((resolve) => consumer.disconnect(resolve))
    },
  }
}

function commit(
  consumer: kafkaClient.KafkaConsumer,
  batch: readonly kafkaClient.Message[],
): Promise<void> {
  const next = new Map(
    batch.map(({ topic, partition, offset }) => [
      partition,
      { topic, partition, offset: offset + 1 },
    ]),
  )
  return new Promise((resolve, reject) => {
    // Missing in the client's type declarations.
    const { commitCb } = consumer as unknown as {
      commitCb(positions: unknown[], done: (error: Error | null) => void): void
    }
    commitCb.call(consumer, [...next.values()], (error) =>
      error === null ? resolve() : reject(error),
    )
  })
}
