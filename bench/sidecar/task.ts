/** Which database the table is in. */
export type Database = 'postgres' | 'mysql'

/** What a contestant is told. */
export interface SidecarTask {
  readonly database: Database
  /** Consumer group, and name of the service. */
  readonly group: string
  readonly input: string
  /** How many to handle; at least as many lie in the input. */
  readonly messages: number
  /** The schema, or database, with the table `price`. */
  readonly schema: string
}

/** How many messages a batch has at most, of all contestants. */
export const batch = 1_000
