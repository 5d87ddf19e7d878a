import { largeUnitTests } from '../sql/large-unit-tests.ts'
import { postgresDatabase } from './postgres-database.ts'

largeUnitTests('PostgreSQL', postgresDatabase)
