import { pgliteDatabase } from './test-database.ts'
import { transactionTests } from './transaction-tests.ts'

transactionTests('PGlite', pgliteDatabase)
