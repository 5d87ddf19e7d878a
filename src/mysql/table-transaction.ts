import type { Known } from '../rows/fold.ts'
import type { Keyed, Noted, RowTransaction, Upsert } from '../rows/row-database.ts'
import { refusal } from './mysql-errors.ts'
import type { NotedVersions } from './noted-versions.ts'
import type { Session } from './session.ts'
import type { TableStatements } from './statements.ts'

// Characters of a statement; in bytes still below the smallest max_allowed_packet that servers come with, 16 MB.
const longest = 4_000_000

/** Rows as they are written in one transaction of MySQL or MariaDB. */
export class TableTransaction implements RowTransaction {
  readonly known?: (rows: readonly string[]) => Promise<ReadonlyMap<string, Known>>
  readonly note?: (rows: readonly Noted[]) => Promise<void>
  readonly #session: Session
  readonly #statements: TableStatements
  #hasEnded = false

  /** @param session in which a transaction has begun; released at its end. */
  constructor(session: Session, statements: TableStatements, versions: NotedVersions | undefined) {
    this.#session = session
    this.#statements = statements
    if (versions === undefined) return
    this.known = (rows) => versions.take(session, rows)
    this.note = (rows) => versions.note(session, rows)
  }

  async delete(rows: readonly Keyed[]): Promise<void> {
    await this.#runFor(rows, (some) => this.#statements.delete(some))
  }

  async upsert(rows: readonly Upsert[]): Promise<void> {
    const [first] = rows
    if (first !== undefined && this.#statements.canInsert(first))
      return await this.#runFor(rows, (some) => this.#statements.upsert(some))
    for (const row of rows) await this.#change(row)
  }

  async #runFor<T>(rows: readonly T[], statement: (rows: readonly T[]) => string): Promise<void> {
    const text = statement(rows)
    if (text.length <= longest || rows.length === 1) return void (await this.#session.run(text))
    const half = Math.ceil(rows.length / 2)
    await this.#runFor(rows.slice(0, half), statement)
    await this.#runFor(rows.slice(half), statement)
  }

  /** A row that is there needs no more than what changes; an insert would ask for the rest even so. */
  async #change(row: Upsert): Promise<void> {
    const update = this.#statements.update(row)
    const isThere =
      update === undefined
        ? (await this.#session.rows(this.#statements.find(row))).length > 0
        : (await this.#session.run(update)) > 0
    if (!isThere) await this.#session.run(this.#statements.insert(row))
  }

  async attempt(body: () => Promise<void>): Promise<void> {
    await this.#session.run('savepoint pollux')
    try {
      await body()
      await this.#session.run('release savepoint pollux')
    } catch (error) {
      await this.#session.run('rollback to savepoint pollux').catch((second: unknown) => {
        // After a deadlock there is no savepoint any more, and the deadlock is what counts.
        throw refusal('', error) === undefined ? error : second
      })
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
