import { largeUnitTests } from './large-unit-tests.ts'
import { pgliteDatabase } from './test-database.ts'

largeUnitTests('PGlite', pgliteDatabase)
