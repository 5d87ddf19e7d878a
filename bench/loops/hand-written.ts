/**
 * The loop that a careful team writes by hand over the same client: a batch at a time, everything acknowledged before
 * the offsets are committed. It leaves out what is not needed here: rebalances, failures, back-pressure, shutdown.
 */
import { once } from 'node:events'
import kafkaClient from '@confluentinc/kafka-javascript'
import { joinGroup } from '../by-hand-consumer.ts'
import { brokers } from '../kafka-topics.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import { type Reading, transform } from '../workload.ts'
import type { LoopTask } from './task.ts'

const { workload, group, input, output, messages } = readTask<LoopTask>()
const isRelay = workload === 'relay'
const batchSize = Number(process.env.BATCH ?? 1_000)
const meter = new Meter()

const consumer = await joinGroup(group, input)
const producer = new kafkaClient.Producer({
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

if (isRelay) {
  producer.connect()
  await once(producer, 'ready')
}
while (meter.count < messages) {
  const batch = await consumer.take(batchSize)
  if (batch.length === 0) continue
  meter.add(batch.length)
  for (const { key, value } of batch) {
    const reading = JSON.parse(String(value)) as Reading
    if (isRelay) send(String(key), transform(reading))
  }
  if (outstanding > 0) await new Promise<void>((resolve) => (delivered = resolve))
  await consumer.commit(batch)
}
tellResult(meter.figures())
await consumer.close()
process.exit(0)

function send(key: string, reading: Reading): void {
  outstanding += 1
  producer.produce(output, null, Buffer.from(JSON.stringify(reading)), Buffer.from(key))
}
