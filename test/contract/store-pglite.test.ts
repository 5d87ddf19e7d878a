import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectPglite } from '../../src/embedded/pglite/pglite-connection.ts'
import type { SqlConnection } from '../../src/sql/sql.ts'
import { SqlStore } from '../../src/sql/sql-store.ts'
import { sessionTests } from '../../src/testing/store-contract/session-tests.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { sharedConnection } from '../sql/shared-connection.ts'
import { sqlStoreSetup } from './sql-store-setup.ts'

const schema = 'contract'

storeContract(
  'PGlite in a folder',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pollux-store-'))
    let database: SqlConnection = await connectPglite(folder)
    const setup = await sqlStoreSetup({
      schema,
      ask: (text, params) => database.query(text, params),
      store: () =>
        new SqlStore({
          name: `PGlite ${folder}`,
          schema,
          newerCode: 'POLLUX_FOLDER_INVALID',
          connect: async () => {
            database = await connectPglite(folder)
            return database
          },
        }),
      cleanup: () => rm(folder, { recursive: true }),
    })
    // The folder is for the stores from now on.
    await database.close()
    return setup
  },
  {
    skips: Object.keys(sessionTests).map((test) => ({
      test,
      reason: 'a folder is open in one store at a time',
    })),
  },
)

// Several stores on one database: what PGlite itself cannot do, but its SQL must.
storeContract('PGlite in memory, shared', async () => {
  const database = await connectPglite(undefined)
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
