/**
 * The loop that a careful team writes by hand over the same client: a batch at a time, everything acknowledged before
 * the offsets are committed. It leaves out what is not needed here: rebalances, failures, back-pressure, shutdown.
 */
import { once } from 'node:events'
import kafkaClient from '@confluentinc/kafka-javascript'
import { Meter } from '../meter.ts'
import { brokers, inputTopic, messages, outputTopic, type Reading, transform } from '../workload.ts'

const { KafkaConsumer, Producer } = kafkaClient
const isRelay = process.argv[2] === 'relay'
const batchSize = Number(process.env.BATCH ?? 1_000)
const meter = new Meter()

const consumer = new KafkaConsumer(
  {
    'bootstrap.servers': brokers.join(','),
    'group.id': `bench-hand-written-${process.pid}`,
    'enable.auto.commit': false,
    'partition.assignment.strategy': 'cooperative-sticky',
    'queued.max.messages.kbytes': 16_384,
    'fetch.max.bytes': 16 * 1024 ** 2,
  },
  { 'auto.offset.reset': 'earliest' },
)
consumer.setDefaultConsumeTimeout(100)
const producer = new Producer({
  'bootstrap.servers': brokers.join(','),
  'enable.idempotence': true,
  acks: -1,
  'linger.ms': 5,
  partitioner: 'murmur2_random',
  dr_cb: true,
})
let outstanding = 0
let delivered: (() => void) | undefined
producer.on('delivery-report', (error) => {
  if (error) throw error
  outstanding -= 1
  if (outstanding === 0) delivered?.()
})
producer.setPollInterval(5)

consumer.connect()
await once(consumer, 'ready')
if (isRelay) {
  producer.connect()
  await once(producer, 'ready')
}
consumer.subscribe([inputTopic])
while (meter.count < messages) {
  const batch = await consume()
  if (batch.length === 0) continue
  meter.add(batch.length)
  for (const { key, value } of batch) {
    const reading = JSON.parse(String(value)) as Reading
    if (isRelay) send(String(key), transform(reading))
  }
  if (outstanding > 0) await new Promise<void>((resolve) => (delivered = resolve))
  await commit(batch)
}
meter.report()
process.exit(0)

type Batch = Awaited<ReturnType<typeof consume>>

function consume(): Promise<kafkaClient.Message[]> {
  return new Promise((resolve, reject) => {
    consumer.consume(batchSize, (error, batch) => (error ? reject(error) : resolve(batch)))
  })
}

function send(key: string, reading: Reading): void {
  outstanding += 1
  producer.produce(outputTopic, null, Buffer.from(JSON.stringify(reading)), Buffer.from(key))
}

function commit(batch: Batch): Promise<void> {
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
