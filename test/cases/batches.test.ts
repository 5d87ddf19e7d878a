import { after, before } from 'node:test'
import { pgliteDatabase, type TestDatabase } from '../sql/test-database.ts'
import { batchCases } from './batches.ts'

const schema = 'batches'
let database: TestDatabase

before(async () => {
  database = await pgliteDatabase()
  await database.ask(`create schema ${schema}`)
})

after(() => database.close())

batchCases('PGlite', () => ({
  store: () => database.store(schema, { migratesAtOpen: true }),
  ask: database.ask,
  schema,
}))
