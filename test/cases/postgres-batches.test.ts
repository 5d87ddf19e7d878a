import { after, before } from 'node:test'
import { postgres } from '../../src/postgres/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { batchCases } from './batches.ts'

const schema = freshName()

before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema ${schema} cascade`))

batchCases('PostgreSQL', () => ({
  store: () => postgres({ connectionString: address(), schema }),
  ask,
  schema,
}))
