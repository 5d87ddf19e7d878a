import { after, before } from 'node:test'
import { pgliteDatabase, type TestDatabase } from '../sql/test-database.ts'
import { ownSqlCases } from './own-sql.ts'

const schema = 'cases'
let database: TestDatabase

before(async () => {
  database = await pgliteDatabase()
  await database.ask(`create schema ${schema}`)
})

after(() => database.close())

ownSqlCases('PGlite', () => ({
  store: () => database.store(schema, { migratesAtOpen: true }),
  ask: database.ask,
  schema,
}))
