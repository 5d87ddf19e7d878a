import { after, before } from 'node:test'
import { postgres } from '../../src/postgres/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { gateCases } from './gate-cases.ts'

const schema = freshName()

before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema if exists ${schema} cascade`))

gateCases('PostgreSQL', () => ({
  store: () => postgres({ connectionString: address(), schema }),
  ask,
  schema,
}))
