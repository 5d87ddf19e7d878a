import { after, before } from 'node:test'
import { pgliteDatabase, type TestDatabase } from '../sql/test-database.ts'
import { scheduleCases } from './schedule-cases.ts'

const schema = 'schedule'
let database: TestDatabase

before(async () => {
  database = await pgliteDatabase()
  await database.ask(`create schema ${schema}`)
})

after(() => database.close())

scheduleCases('PGlite', () => ({
  store: () => database.store(schema, { migratesAtOpen: true }),
  ask: database.ask,
  schema,
}))
