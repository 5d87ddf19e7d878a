/**
 * A row as the driver gives it. Values are read by `rows.ts`, which knows what the drivers disagree
 * on.
 */
export type SqlRow = Readonly<Record<string, unknown>>

/** A parameter: text, or bytes in PostgreSQL's binary form of the parameter's type. */
export type SqlParam = string | Uint8Array | null

/**
 * As much of a PostgreSQL client as the store needs: one statement, outside a transaction or in
 * one. Errors are the driver's own; a database error carries its SQLSTATE in `code`.
 */
export interface Sql {
  query(text: string, params?: readonly SqlParam[]): Promise<readonly SqlRow[]>
}

/** A connection, or a pool. Safe for several calls at once. */
export interface SqlConnection extends Sql {
  /** Commits when `work` resolves, rolls back and rejects when it rejects. READ COMMITTED. */
  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}
