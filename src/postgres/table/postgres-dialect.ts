import type { PolluxError } from '../../errors.ts'
import type { Keyed, Upsert } from '../../rows/row-database.ts'
import type { TableDialect } from '../../rows/table-database.ts'
import type { SqlSession } from '../../sql/sql.ts'
import type { PostgresConnection } from '../postgres-connection.ts'
import type { Statement, TableStatements } from './statements.ts'
import { refusal, trouble } from './table-errors.ts'

/** How rows are written in PostgreSQL. */
export class PostgresDialect implements TableDialect<SqlSession> {
  // What is deferred is to be the fault of these rows, and not of the commit.
  readonly release = 'set constraints all immediate; release savepoint pollux'
  readonly #name: string
  readonly #connection: PostgresConnection
  readonly #statements: TableStatements

  /** @param name what errors call the table */
  constructor(name: string, connection: PostgresConnection, statements: TableStatements) {
    this.#name = name
    this.#connection = connection
    this.#statements = statements
  }

  session(): Promise<SqlSession> {
    return this.#connection.session()
  }

  async delete(session: SqlSession, rows: readonly Keyed[]): Promise<void> {
    await run(session, this.#statements.delete(rows))
  }

  async upsert(session: SqlSession, rows: readonly Upsert[]): Promise<void> {
    await run(session, this.#statements.upsert(rows))
  }

  refusal(error: unknown): PolluxError | undefined {
    return refusal(this.#name, error)
  }

  trouble(error: unknown): PolluxError {
    return trouble(this.#name, error)
  }
}

async function run(session: SqlSession, { text, params, isStable }: Statement): Promise<void> {
  // Of others, a plan made while the table was small would be kept when it is large.
  await (isStable ? session.call(text, params) : session.query(text, params))
}
