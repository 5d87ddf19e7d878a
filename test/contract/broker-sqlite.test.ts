import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { brokerContract } from '../../src/testing/broker-contract.ts'

brokerContract(
  'embedded, in a folder',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pollux-broker-'))
    let count = 0
    return {
      async broker() {
        // Each has a connection of its own to the file, as if it were another process.
        const broker = embeddedBroker({ folder })
        await broker.connect()
        return broker
      },
      uniqueName() {
        count += 1
        return `name-${count}`
      },
      async cleanup() {
        await rm(folder, { recursive: true })
      },
    }
  },
  { deadline: 10_000, maxRecordBytes: 1_048_576 },
)
