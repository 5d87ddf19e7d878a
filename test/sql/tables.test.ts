import { tableTests } from './table-tests.ts'
import { pgliteDatabase } from './test-database.ts'

tableTests('PGlite', pgliteDatabase)
