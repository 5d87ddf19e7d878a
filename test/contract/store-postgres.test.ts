import { postgres } from '../../src/postgres/index.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { sqlStoreSetup } from './sql-store-setup.ts'

storeContract('PostgreSQL', () => {
  const schema = freshName()
  return sqlStoreSetup({
    schema,
    ask,
    store: () => postgres({ connectionString: address(), schema }),
    async cleanup() {
      await ask(`drop schema ${schema} cascade`)
    },
  })
})
