import { planTests } from './plan-tests.ts'
import { pgliteDatabase } from './test-database.ts'

planTests('PGlite', 50_000, pgliteDatabase)
