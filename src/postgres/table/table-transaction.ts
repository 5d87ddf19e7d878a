import type { Known } from '../../rows/fold.ts'
import type { Keyed, Noted, RowTransaction, Upsert } from '../../rows/row-database.ts'
import type { SqlSession } from '../../sql/sql.ts'
import type { NotedVersions } from './noted-versions.ts'
import type { Statement, TableStatements } from './statements.ts'

/** Rows as they are written in one transaction of PostgreSQL. */
export class TableTransaction implements RowTransaction {
  readonly known?: (rows: readonly string[]) => Promise<ReadonlyMap<string, Known>>
  readonly note?: (rows: readonly Noted[]) => Promise<void>
  readonly #session: SqlSession
  readonly #statements: TableStatements
  #hasEnded = false

  /** @param session in which a transaction has begun; released at its end. */
  constructor(
    session: SqlSession,
    statements: TableStatements,
    versions: NotedVersions | undefined,
  ) {
    this.#session = session
    this.#statements = statements
    if (versions === undefined) return
    this.known = (rows) => versions.take(session, rows)
    this.note = (rows) => versions.note(session, rows)
  }

  async delete(rows: readonly Keyed[]): Promise<void> {
    await this.#run(this.#statements.delete(rows))
  }

  async upsert(rows: readonly Upsert[]): Promise<void> {
    await this.#run(this.#statements.upsert(rows))
  }

  // Unprepared: a plan made while the table was small would be kept when it is large.
  async #run({ text, params }: Statement): Promise<void> {
    await this.#session.query(text, params)
  }

  async attempt(body: () => Promise<void>): Promise<void> {
    await this.#session.run('savepoint pollux')
    try {
      await body()
      // What is deferred is to be the fault of these rows, and not of the commit.
      await this.#session.run('set constraints all immediate; release savepoint pollux')
    } catch (error) {
      await this.#session.run('rollback to savepoint pollux')
      throw error
    }
  }

  async commit(): Promise<void> {
    await this.#session.run('commit')
    this.#end(false)
  }

  async rollback(): Promise<void> {
    if (this.#hasEnded) return
    try {
      await this.#session.run('rollback')
      this.#end(false)
    } catch {
      this.#end(true)
    }
  }

  #end(isBroken: boolean): void {
    this.#hasEnded = true
    this.#session.release(isBroken)
  }
}
