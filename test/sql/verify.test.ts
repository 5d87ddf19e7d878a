import { pgliteDatabase } from './test-database.ts'
import { verifyTests } from './verify-tests.ts'

verifyTests('PGlite', pgliteDatabase)
