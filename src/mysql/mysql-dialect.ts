import type { PolluxError } from '../errors.ts'
import type { Keyed, Upsert } from '../rows/row-database.ts'
import type { TableDialect } from '../rows/table-database.ts'
import type { MysqlConnection } from './mysql-connection.ts'
import { refusal, trouble } from './mysql-errors.ts'
import type { Session } from './session.ts'
import type { TableStatements } from './statements.ts'

// Characters of a statement; in bytes still below the smallest max_allowed_packet that servers come with, 16 MB.
const longest = 4_000_000

/** How rows are written in MySQL and MariaDB. */
export class MysqlDialect implements TableDialect<Session> {
  readonly release = 'release savepoint pollux'
  readonly #name: string
  readonly #connection: MysqlConnection
  readonly #statements: TableStatements

  /** @param name what errors call the table */
  constructor(name: string, connection: MysqlConnection, statements: TableStatements) {
    this.#name = name
    this.#connection = connection
    this.#statements = statements
  }

  session(): Promise<Session> {
    return this.#connection.session()
  }

  async delete(session: Session, rows: readonly Keyed[]): Promise<void> {
    await runFor(session, rows, (some) => this.#statements.delete(some))
  }

  async upsert(session: Session, rows: readonly Upsert[]): Promise<void> {
    const [first] = rows
    if (first !== undefined && this.#statements.canInsert(first))
      return await runFor(session, rows, (some) => this.#statements.upsert(some))
    for (const row of rows) await this.#change(session, row)
  }

  /** A row that is there needs no more than what changes; an insert would ask for the rest even so. */
  async #change(session: Session, row: Upsert): Promise<void> {
    const update = this.#statements.update(row)
    const isThere =
      update === undefined
        ? (await session.rows(this.#statements.find(row))).length > 0
        : (await session.run(update)) > 0
    if (!isThere) await session.run(this.#statements.insert(row))
  }

  refusal(error: unknown): PolluxError | undefined {
    return refusal(this.#name, error)
  }

  trouble(error: unknown): PolluxError {
    return trouble(this.#name, error)
  }
}

async function runFor<T>(
  session: Session,
  rows: readonly T[],
  statement: (rows: readonly T[]) => string,
): Promise<void> {
  const text = statement(rows)
  if (text.length <= longest || rows.length === 1) return void (await session.run(text))
  const half = Math.ceil(rows.length / 2)
  await runFor(session, rows.slice(0, half), statement)
  await runFor(session, rows.slice(half), statement)
}
