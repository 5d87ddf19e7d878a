import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { brokerContract } from '../../src/testing/broker-contract.ts'

brokerContract(
  'embedded, in memory',
  async () => {
    const memory = sharedMemory()
    let count = 0
    return {
      async broker() {
        const broker = embeddedBroker({ memory })
        await broker.connect()
        return broker
      },
      uniqueName() {
        count += 1
        return `name-${count}`
      },
      async cleanup() {},
    }
  },
  { deadline: 5_000, maxRecordBytes: 1_048_576 },
)
