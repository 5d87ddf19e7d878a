import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectPglite } from '../../src/embedded/pglite/pglite-connection.ts'
import { pgliteStore } from '../../src/embedded/pglite-store.ts'
import { SqlStore } from '../../src/sql/sql-store.ts'
import { sessionTests } from '../../src/testing/store-contract/session-tests.ts'
import { storeContract } from '../../src/testing/store-contract.ts'

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
  return {
    store: () =>
      new SqlStore({
        name: 'shared PGlite',
        schema: 'pollux',
        newerCode: 'POLLUX_STORE_FAILED',
        connect: async () => ({
          query: (text, params) => database.query(text, params),
          transaction: (work) => database.transaction(work),
          close: async () => {},
        }),
      }),
    cleanup: () => database.close(),
  }
})
