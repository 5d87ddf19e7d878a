// A process of a gate's group, made to crash. Its first argument is its settings, as JSON.
import { kafka } from '../../../src/kafka/index.ts'
import { postgres } from '../../../src/postgres/index.ts'
import { runToCrash } from '../../../src/testing/index.ts'
import { address } from '../../postgres/server.ts'
import { brokers } from '../on-kafka.ts'
import { booksOf } from './books.ts'

export interface GateMember {
  readonly name: string
  /** A member that comes back under its name gets its partitions at once. */
  readonly instanceId: string
}

if (process.argv[1] === import.meta.filename)
  await main(JSON.parse(process.argv[2] ?? '{}') as GateMember)

async function main({ name, instanceId }: GateMember): Promise<void> {
  const runtime = await runToCrash(booksOf(name).service, {
    broker: kafka({ brokers, instanceId, sessionTimeout: 6_000 }),
    store: postgres({ connectionString: address(), schema: name }),
    // Small units, so that there are many to die in.
    commitInterval: 20,
    bufferMessages: 500,
  })
  await runtime.done
}
