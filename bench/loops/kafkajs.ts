/** kafkajs with `eachBatch`: the most used client, pure JavaScript. */
import { Kafka, logLevel, Partitioners } from 'kafkajs'
import { brokers } from '../kafka-topics.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import { type Reading, transform } from '../workload.ts'
import type { LoopTask } from './task.ts'

const { workload, group, input, output, messages } = readTask<LoopTask>()
const isRelay = workload === 'relay'
const meter = new Meter()
const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
const consumer = kafka.consumer({ groupId: group })
const producer = kafka.producer({
  idempotent: true,
  createPartitioner: Partitioners.DefaultPartitioner,
})
const all = Promise.withResolvers<void>()

await consumer.connect()
if (isRelay) await producer.connect()
await consumer.subscribe({ topic: input, fromBeginning: true })
await consumer.run({
  autoCommit: false,
  partitionsConsumedConcurrently: 4,
  async eachBatch({ batch, resolveOffset, commitOffsetsIfNecessary, heartbeat }) {
    meter.add(batch.messages.length)
    const results = batch.messages.map(({ key, value }) => {
      const reading = JSON.parse(String(value)) as Reading
      return isRelay ? { key: String(key), value: JSON.stringify(transform(reading)) } : undefined
    })
    if (isRelay)
      await producer.send({
        topic: output,
        acks: -1,
        messages: results.flatMap((result) => result ?? []),
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
tellResult(meter.figures())
await consumer.disconnect()
process.exit(0)
