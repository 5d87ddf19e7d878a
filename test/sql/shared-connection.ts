import type { SqlConnection } from '../../src/sql/sql.ts'

/** The same connection for several stores: closing one of them leaves it to the others. */
export function sharedConnection(connection: SqlConnection): SqlConnection {
  return {
    query: (text, params) => connection.query(text, params),
    call: (text, params) => connection.call(text, params),
    read: (text, params) => connection.read(text, params),
    session: (options) => connection.session(options),
    close: async () => {},
  }
}
