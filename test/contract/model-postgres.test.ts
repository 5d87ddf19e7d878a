import { postgres } from '../../src/postgres/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { sqlStoreSetup } from './sql-store-setup.ts'
import { checkAgainstModel } from './store-model/check.ts'

checkAgainstModel('PostgreSQL', () => {
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
