// A process with work that is due by time, made to crash. Its first argument is its settings, as JSON.
import { embeddedBroker } from '../../src/embedded/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { runToCrash } from '../../src/testing/index.ts'
import { dueWork } from './due-work.ts'

export interface ScheduleSettings {
  readonly owner: string
  readonly folder: string
  readonly connectionString: string
  readonly schema: string
}

const { owner, folder, connectionString, schema } = JSON.parse(
  process.argv[2] ?? '{}',
) as ScheduleSettings
const runtime = await runToCrash(dueWork(schema, owner), {
  broker: embeddedBroker({ folder, sessionTimeout: '1s' }),
  store: postgres({ connectionString, schema, statementTimeout: '1s', lockTimeout: '500ms' }),
  createTopics: true,
})
await runtime.done
