// A process that feeds tables until it is killed, and says when it has read and when it has committed.
import { embeddedBroker } from '../../../src/embedded/index.ts'
import type { Target } from '../../../src/index.ts'
import { kafka } from '../../../src/kafka/index.ts'
import { mysqlTable } from '../../../src/mysql/index.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { postgresTable } from '../../../src/postgres/index.ts'
import { runToCrash } from '../../../src/testing/index.ts'
import { watchedBroker } from '../../../src/testing/watched-broker.ts'
import { feeders } from './lives.ts'

/** Where a life is lived. */
export interface LifeSettings {
  /** Of the topic, and what those of the sidecars begin with. */
  readonly name: string
  readonly broker:
    | { readonly folder: string }
    | { readonly brokers: readonly string[]; readonly instanceId: string }
  readonly database: 'postgres' | 'mysql'
  readonly connectionString: string
  /** Or database, where the tables are. */
  readonly schema: string
}

if (process.argv[1] === import.meta.filename)
  await main(JSON.parse(process.argv[2] ?? '{}') as LifeSettings)

export function openBroker({ broker }: Pick<LifeSettings, 'broker'>): Broker {
  return 'folder' in broker ? embeddedBroker(broker) : kafka({ ...broker, sessionTimeout: 6_000 })
}

export function targetFor(settings: LifeSettings, name: string): Target {
  const { database, connectionString, schema } = settings
  const options = { connectionString, table: `${schema}.${name}`, versions: `${schema}.versions` }
  return database === 'postgres' ? postgresTable(options) : mysqlTable(options)
}

async function main(settings: LifeSettings): Promise<void> {
  const broker = watchedBroker(openBroker(settings), {
    polled: (count) => {
      if (count > 0) console.log('polled')
    },
    committed: () => console.log('committed'),
  })
  const services = feeders(settings.name, (table) => targetFor(settings, table))
  const runtime = await runToCrash(services, { broker, commitInterval: 0, bufferMessages: 50 })
  await runtime.done
}
