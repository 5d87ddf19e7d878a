import { transactionTests } from '../sql/transaction-tests.ts'
import { postgresDatabase } from './postgres-database.ts'

transactionTests('PostgreSQL', postgresDatabase)
