/** Takes the time of each message that arrives, until all have or nothing comes any more. */
import { kafka } from '../../src/kafka/index.ts'
import { brokers, partitions } from '../kafka-topics.ts'
import { percentile } from '../table.ts'
import { readTask, tellResult } from '../turns.ts'
import { type LatencyFigures, type LatencyTask, sharedNow, type TimedReading } from './task.ts'

// Longer than anything that is measured here; a service that is so late has collapsed.
const patience = 20_000

const { topic, rate, warmUpSeconds, seconds } = readTask<LatencyTask>()
const expected = rate * seconds
const broker = kafka({ brokers })
await broker.connect()
const reader = await broker.reader(
  Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: 0 })),
)
const latencies: number[] = []
const end = sharedNow() + (warmUpSeconds + seconds) * 1_000 + patience
while (latencies.length < expected && sharedNow() < end) {
  const records = await reader.poll(1_000)
  const now = sharedNow()
  for (const { value } of records) {
    const { due } = JSON.parse(String(value)) as TimedReading
    if (due > 0) latencies.push(now - due)
  }
}
const figures: LatencyFigures = {
  expected,
  arrived: latencies.length,
  p50: percentile(latencies, 50),
  p99: percentile(latencies, 99),
  max: percentile(latencies, 100),
}
await broker.close()
tellResult(figures)
