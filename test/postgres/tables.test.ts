import { tableTests } from '../sql/table-tests.ts'
import { postgresDatabase } from './postgres-database.ts'

tableTests('PostgreSQL', postgresDatabase)
