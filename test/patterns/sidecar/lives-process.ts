// A process that feeds two tables until it is killed, and says when it has read and when it has committed. Settings: `folder` of the
// broker, `name` of the sidecars, `connectionString` and `schema` of the tables.
import { embeddedBroker } from '../../../src/embedded/index.ts'
import { run } from '../../../src/index.ts'
import { postgresTable } from '../../../src/postgres/index.ts'
import { watchedBroker } from '../../../src/testing/watched-broker.ts'
import { feeders } from './lives.ts'

const { folder, name, connectionString, schema } = JSON.parse(process.argv[2] ?? '{}') as Record<
  string,
  string
>
const services = feeders(name ?? '', (table) =>
  postgresTable({
    connectionString: connectionString ?? '',
    table: `${schema}.${table}`,
    versions: `${schema}.versions`,
  }),
)
const broker = watchedBroker(embeddedBroker({ folder: folder ?? '' }), {
  polled: () => console.log('polled'),
  committed: () => console.log('committed'),
})
const runtime = await run(services, { broker, commitInterval: 0, bufferMessages: 50 })
await runtime.done
