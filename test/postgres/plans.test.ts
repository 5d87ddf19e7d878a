import { planTests } from '../sql/plan-tests.ts'
import { postgresDatabase } from './postgres-database.ts'

// One session, whose statistics can be told to be there at once.
planTests('PostgreSQL', 1_000_000, () => postgresDatabase(1))
