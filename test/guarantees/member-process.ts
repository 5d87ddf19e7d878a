// A process with the service of a mechanism, made to crash. Its first argument is its settings, as JSON.
import { embeddedBroker, pgliteStore } from '../../src/embedded/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import type { Store } from '../../src/ports/store.ts'
import { postgres } from '../../src/postgres/index.ts'
import { runToCrash } from '../../src/testing/index.ts'
import { type Fault, faultyBroker, faultyStore } from './faults.ts'
import { type ServiceSettings, serviceOf } from './services.ts'

export interface MemberSettings extends ServiceSettings {
  readonly broker:
    | { readonly folder: string }
    | {
        readonly brokers: readonly string[]
        /** Members that come back under their name get their partitions at once. */
        readonly instanceId?: string | undefined
        readonly sessionTimeout?: number | undefined
        readonly transactionTimeout?: number | undefined
      }
  readonly store?:
    | { readonly folder: string }
    | {
        readonly connectionString: string
        readonly schema: string
        readonly statementTimeout?: number
        readonly lockTimeout?: number
      }
    | undefined
  readonly fault?: Fault | undefined
}

if (process.argv[1] === import.meta.filename)
  await main(JSON.parse(process.argv[2] ?? '{}') as MemberSettings)

async function main(settings: MemberSettings): Promise<void> {
  const store = openStore(settings)
  const runtime = await runToCrash(serviceOf(settings), {
    broker: openBroker(settings),
    ...(store === undefined ? {} : { store }),
    commitInterval: 20,
    bufferMessages: 200,
  })
  await runtime.done
}

function openBroker({ broker, fault }: MemberSettings): Broker {
  if ('folder' in broker) return embeddedBroker({ folder: broker.folder })
  const { brokers, instanceId, sessionTimeout = 6_000, transactionTimeout = 15_000 } = broker
  const producer = { 'transaction.timeout.ms': transactionTimeout }
  const name = instanceId === undefined ? {} : { instanceId }
  return faultyBroker(kafka({ brokers, sessionTimeout, producer, ...name }), fault)
}

function openStore({ store, fault }: MemberSettings): Store | undefined {
  if (store === undefined) return undefined
  if ('folder' in store) return pgliteStore({ folder: store.folder })
  return faultyStore(postgres(store), fault, store)
}
