import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectPglite } from '../../src/embedded/pglite/pglite-connection.ts'
import { pgliteStore } from '../../src/embedded/pglite-store.ts'
import { SqlStore } from '../../src/sql/sql-store.ts'
import { sessionTests } from '../../src/testing/store-contract/session-tests.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { sharedConnection } from '../sql/shared-connection.ts'
import { sqlStoreSetup } from './sql-store-setup.ts'

storeContract(
  'PGlite in a folder',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pollux-store-'))
    return {
      store: () => pgliteStore({ folder }),
      cleanup: () => rm(folder, { recursive: true }),
    }
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
  const schema = 'contract'
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
