import { connectPglite } from '../../src/embedded/pglite/pglite-connection.ts'
import { SqlStore } from '../../src/sql/sql-store.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { MemoryStoreData, memoryStore } from '../../src/testing/memory-store.ts'
import { sharedConnection } from '../sql/shared-connection.ts'
import { sqlStoreSetup } from './sql-store-setup.ts'
import { checkAgainstModel } from './store-model/check.ts'

checkAgainstModel('memory', async () => {
  const data = new MemoryStoreData()
  const clock = new ManualClock()
  return {
    store: () => memoryStore(data, clock),
    age: (milliseconds) => clock.advance(milliseconds),
    cleanup: async () => {},
  }
})

checkAgainstModel('PGlite', async () => {
  const database = await connectPglite(undefined)
  const schema = 'model'
  return sqlStoreSetup({
    schema,
    ask: (text, params) => database.query(text, params),
    store: () =>
      new SqlStore({
        name: 'shared PGlite',
        schema,
        newerCode: 'POLLUX_STORE_FAILED',
        connect: async () => sharedConnection(database),
      }),
    cleanup: () => database.close(),
  })
})
