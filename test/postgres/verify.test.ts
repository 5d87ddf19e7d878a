import { verifyTests } from '../sql/verify-tests.ts'
import { postgresDatabase } from './postgres-database.ts'

verifyTests('PostgreSQL', postgresDatabase)
