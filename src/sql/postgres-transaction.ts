import { type Capability, capability } from '../capability.ts'

/** The unit's own transaction, as a handler is given it for one attempt. */
export interface PostgresTransaction {
  /**
   * Runs one statement and gives its rows. Parameters are written as `$1`, `$2` and converted by the driver, as are the
   * values of the rows. A statement that fails rejects with the driver's error and fails the attempt; transaction
   * control is refused, as the unit begins and ends the transaction. Await each query: none may be under way when the
   * handler ends, and none can be made after that.
   */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<readonly Row[]>
}

/** What a service asks for in `uses` to write in the unit's own transaction, on PostgreSQL and on PGlite. */
export const postgresTransaction: Capability<PostgresTransaction> =
  capability('postgresTransaction')
