import { after, before } from 'node:test'
import { pgliteDatabase, type TestDatabase } from '../sql/test-database.ts'
import { gateCases } from './gate-cases.ts'

const schema = 'gates'
let database: TestDatabase

before(async () => {
  database = await pgliteDatabase()
  await database.ask(`create schema ${schema}`)
})

after(() => database.close())

gateCases('PGlite', () => ({
  store: () => database.store(schema, { migratesAtOpen: true }),
  ask: database.ask,
  schema,
}))
