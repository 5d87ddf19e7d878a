import { connectPglite } from '../../src/embedded/pglite/pglite-connection.ts'
import type { SqlConnection } from '../../src/sql/sql.ts'
import { SqlStore, type SqlStoreOptions } from '../../src/sql/sql-store.ts'
import { sharedConnection } from './shared-connection.ts'

/** A database for tests of the SQL store, whatever runs it. */
export interface TestDatabase {
  readonly connection: SqlConnection
  /** Asks it past any store. */
  ask(text: string, params?: unknown[]): Promise<readonly Record<string, unknown>[]>
  /** A store in this schema, which is made when it is opened. */
  store(schema: string, options?: Partial<SqlStoreOptions>): SqlStore
  close(): Promise<void>
}

export async function pgliteDatabase(): Promise<TestDatabase> {
  const connection = await connectPglite(undefined)
  return testDatabase(connection, () => connection.close())
}

export function testDatabase(connection: SqlConnection, close: () => Promise<void>): TestDatabase {
  return {
    connection,
    ask: (text, params) => connection.query(text, params),
    store: (schema, options) =>
      new SqlStore({
        name: 'test',
        schema,
        newerCode: 'POLLUX_FOLDER_INVALID',
        connect: async () => sharedConnection(connection),
        ...options,
      }),
    close,
  }
}
