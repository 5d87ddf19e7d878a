import { test } from 'node:test'
import { kafka } from '../../src/kafka/index.ts'
import { meetBacklog } from './backlog.ts'

const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')

test('case 7: a slow handler in front of a long backlog keeps its memory, and its place in the group', async () => {
  const mark = `${process.pid}-${Date.now()}`
  const broker = kafka({ brokers })
  try {
    await meetBacklog(broker, { kafka: brokers, group: `slow-${mark}`, topic: `backlog-${mark}` })
  } finally {
    await broker.close()
  }
})
