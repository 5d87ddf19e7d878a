/** kafkajs with `eachBatch`: the most used client, pure JavaScript. */
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { Meter } from '../meter.ts'
import { brokers, inputTopic, messages, outputTopic, type Reading, transform } from '../workload.ts'

const isRelay = process.argv[2] === 'relay'
const meter = new Meter()
const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
const consumer = kafka.consumer({ groupId: `bench-kafkajs-${process.pid}` })
const producer = kafka.producer({
  idempotent: true,
  createPartitioner: Partitioners.DefaultPartitioner,
})
const all = Promise.withResolvers<void>()

await consumer.connect()
if (isRelay) await producer.connect()
await consumer.subscribe({ topic: inputTopic, fromBeginning: true })
await consumer.run({
  autoCommit: false,
  partitionsConsumedConcurrently: 4,
  async eachBatch({ batch, resolveOffset, commitOffsetsIfNecessary, heartbeat }) {
    meter.add(batch.messages.length)
    const outputs = batch.messages.map(({ key, value }) => {
      const reading = JSON.parse(String(value)) as Reading
      return isRelay ? { key: String(key), value: JSON.stringify(transform(reading)) } : undefined
    })
    if (isRelay)
      await producer.send({
        topic: outputTopic,
        acks: -1,
        messages: outputs.flatMap((output) => output ?? []),
      })
    resolveOffset(batch.lastOffset())
    await commitOffsetsIfNecessary({
      topics: [
        {
          topic: batch.topic,
          partitions: [
            { partition: batch.partition, offset: String(BigInt(batch.lastOffset()) + 1n) },
          ],
        },
      ],
    })
    await heartbeat()
    if (meter.count >= messages) all.resolve()
  },
})
await all.promise
meter.report()
process.exit(0)
