import { kafka } from '../src/kafka/index.ts'

/** What is compared: read only, or read, transform and write. */
export type Workload = 'consume' | 'relay'

export const workloads: readonly Workload[] = ['consume', 'relay']

export const brokers: string[] = (process.env.KAFKA_BROKERS ?? '127.0.0.1:9092').split(',')
/** How many messages of about 200 bytes lie in the input topic. */
export const messages: number = Number(process.env.N ?? 200_000)
export const partitions = 8
export const inputTopic: string = `pollux-bench-in-${messages}`
export const outputTopic = 'pollux-bench-out'

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

/** Makes both topics, and fills the input once. */
export async function prepare(): Promise<void> {
  const broker = kafka({ brokers })
  await broker.connect()
  const config = {
    'retention.bytes': String(64 * 1024 ** 2),
    'segment.bytes': String(32 * 1024 ** 2),
  }
  await broker.admin.createTopics([
    { name: inputTopic, partitions },
    { name: outputTopic, partitions, config },
  ])
  const ranges = await broker.admin.ranges([inputTopic])
  const present = ranges.reduce((sum, { latest }) => sum + latest, 0)
  const producer = await broker.producer()
  for (let from = present; from < messages; from += 5_000) {
    await producer.send(
      Array.from({ length: Math.min(5_000, messages - from) }, (_, index) => record(from + index)),
    )
  }
  await broker.close()
}

function record(
  index: number,
): Parameters<Awaited<ReturnType<ReturnType<typeof kafka>['producer']>>['send']>[0][number] {
  const reading: Reading = {
    symbol: `S${index % 1_000}`,
    price: (index % 10_000) / 100,
    volume: index,
    note: 'x'.repeat(140),
  }
  return {
    topic: inputTopic,
    partition: undefined,
    key: Buffer.from(reading.symbol),
    value: Buffer.from(JSON.stringify(reading)),
    headers: [],
    timestamp: undefined,
  }
}
