import { kafka } from '../../src/kafka/index.ts'
import { brokerContract } from '../../src/testing/broker-contract.ts'

const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
const run = `${process.pid}-${Date.now()}`
let count = 0

brokerContract(
  'kafka',
  async () => ({
    async broker() {
      const broker = kafka({ brokers, consumer: { 'heartbeat.interval.ms': 300 } })
      await broker.connect()
      return broker
    },
    uniqueName() {
      count += 1
      return `contract-${run}-${count}`
    },
    async cleanup() {},
  }),
  {
    maxRecordBytes: 1_000_000,
    skips: [
      {
        test: 'headers come back in their order: repeated names, binary, empty and null values',
        reason:
          'the client gives a null header value as an empty one; test/kafka/headers.test.ts checks the rest',
      },
      {
        test: 'a kept partition is delivered while another one’s revoked is still pending',
        reason:
          'librdkafka fetches nothing for a member that has a rebalance to answer; what was fetched goes on',
      },
    ],
  },
)
