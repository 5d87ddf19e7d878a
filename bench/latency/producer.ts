/**
 * Sends at a steady rate. A message is stamped with the time at which it was due, not with the time of sending: if sending
 * is held up, that is part of what its reader waits for.
 */
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import kafkaClient from '@confluentinc/kafka-javascript'
import { eventRecord } from '../events.ts'
import { brokers } from '../kafka-topics.ts'
import { readTask, tellResult } from '../turns.ts'
import type { Reading } from '../workload.ts'
import { type LatencyTask, sharedNow, type TimedReading } from './task.ts'

const { topic, rate, warmUpSeconds, seconds } = readTask<LatencyTask>()
const total = rate * (warmUpSeconds + seconds)
const producer = new kafkaClient.Producer({
  'bootstrap.servers': brokers.join(','),
  'enable.idempotence': true,
  acks: -1,
  'linger.ms': 0,
  partitioner: 'murmur2_random',
})
producer.connect()
await once(producer, 'ready')
const start = sharedNow()
for (let sent = 0; sent < total; ) {
  const due = Math.min(total, Math.floor(((sharedNow() - start) / 1_000) * rate))
  for (; sent < due; sent += 1) send(sent)
  await wait(1)
}
await new Promise((resolve) => producer.flush(10_000, resolve))
tellResult({ sent: total })
process.exit(0)

function send(index: number): void {
  const { key, value, headers } = eventRecord(topic, index)
  const reading = JSON.parse(String(value)) as Reading
  const isMeasured = index >= rate * warmUpSeconds
  const timed: TimedReading = { ...reading, due: isMeasured ? start + (index / rate) * 1_000 : 0 }
  const ids = headers.map((header) => ({ [header.name]: header.value as Buffer }))
  producer.produce(topic, null, Buffer.from(JSON.stringify(timed)), key, null, undefined, ids)
}
