/**
 * As much of a `Pool` of the package `pg` as the store uses. Written here, as its own types are in a package that not
 * everybody has.
 */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  readonly options: {
    readonly connectionString?: string | undefined
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly database?: string | undefined
    readonly user?: string | undefined
  }
}

/** A connection that a pool has lent. */
export interface PostgresClient {
  query(statement: PostgresStatement): Promise<{ readonly rows: Record<string, unknown>[] }>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  /** With true, the connection is ended. */
  release(isBroken?: boolean): void
}

/** What a client is asked. */
export interface PostgresStatement {
  readonly text: string
  readonly values?: unknown[]
  /** Keeps the statement prepared under this name. */
  readonly name?: string
  /** Takes one statement alone, as one with values does. */
  readonly queryMode?: 'extended'
  /** Milliseconds to wait for the answer. */
  readonly query_timeout?: number
}
