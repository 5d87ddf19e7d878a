/**
 * A row as the driver gives it. Values are read by `rows.ts`, which knows what the drivers disagree
 * on.
 */
export type SqlRow = Readonly<Record<string, unknown>>

/**
 * As much of a PostgreSQL client as the store needs. A parameter that is bytes is taken as
 * PostgreSQL's binary form of the parameter's type; of others the driver makes a text. Errors are the
 * driver's own; a database error carries its SQLSTATE in `code`.
 */
export interface Sql {
  /** One statement. */
  query(text: string, params?: readonly unknown[]): Promise<readonly SqlRow[]>
  /** The same, for one that is sent again and again: a driver may keep it prepared. */
  call(text: string, params: readonly unknown[]): Promise<readonly SqlRow[]>
}

/** One session, which is nobody else's until it is released. */
export interface SqlSession extends Sql {
  /** Statements without parameters, separated by semicolons, in one round trip. */
  run(text: string): Promise<void>
  /** From now on, the session's reads are nobody else's either. */
  endSharing(): void
  /** Ends the use; `isBroken` ends the session itself. Idempotent. */
  release(isBroken: boolean): void
}

/** A connection, or a pool. Safe for several calls at once. */
export interface SqlConnection extends Sql {
  /**
   * A call that writes nothing. Where there is one session alone, whoever has it may be waiting for
   * just this: it is made between their statements.
   */
  read(text: string, params: readonly unknown[]): Promise<readonly SqlRow[]>
  /** With `sharesReads`, until `endSharing` nothing may be written that others' reads must not see. */
  session(options?: { readonly sharesReads: boolean }): Promise<SqlSession>
  close(): Promise<void>
}
