import type { PolluxError } from '../errors.ts'
import type { Known } from './fold.ts'
import type { Keyed, Noted, RowDatabase, RowTransaction, Upsert } from './row-database.ts'

/** A session of a database, until it is released. */
export interface TableSession {
  run(sql: string): Promise<unknown>
  /** Ends the use; `isBroken` ends the session itself. */
  release(isBroken: boolean): void
}

/** What databases do each in their own way. Errors are the driver's own. */
export interface TableDialect<S extends TableSession> {
  /** Ends an attempt that went well: the savepoint `pollux`, and what else was put off. */
  readonly release: string
  session(): Promise<S>
  delete(session: S, rows: readonly Keyed[]): Promise<void>
  upsert(session: S, rows: readonly Upsert[]): Promise<void>
  /** As `RowDatabase` has them. */
  refusal(error: unknown): PolluxError | undefined
  trouble(error: unknown): PolluxError
}

/** Notes of versions beside the table. */
export interface VersionNotes<S> {
  /** Locks the notes of these rows, making those that are missing. */
  take(session: S, rows: readonly string[]): Promise<ReadonlyMap<string, Known>>
  note(session: S, noted: readonly Noted[]): Promise<void>
}

/** One table of a database, as rows are written to it. */
export class TableDatabase<S extends TableSession> implements RowDatabase {
  readonly isNoting: boolean
  readonly #dialect: TableDialect<S>
  readonly #notes: VersionNotes<S> | undefined

  constructor(dialect: TableDialect<S>, notes: VersionNotes<S> | undefined) {
    this.isNoting = notes !== undefined
    this.#dialect = dialect
    this.#notes = notes
  }

  async begin(): Promise<RowTransaction> {
    const session = await this.#dialect.session()
    try {
      await session.run('begin')
    } catch (error) {
      session.release(true)
      throw error
    }
    return new TableTransaction(session, this.#dialect, this.#notes)
  }

  refusal(error: unknown): PolluxError | undefined {
    return this.#dialect.refusal(error)
  }

  trouble(error: unknown): PolluxError {
    return this.#dialect.trouble(error)
  }
}

class TableTransaction<S extends TableSession> implements RowTransaction {
  readonly known?: (rows: readonly string[]) => Promise<ReadonlyMap<string, Known>>
  readonly note?: (rows: readonly Noted[]) => Promise<void>
  readonly #session: S
  readonly #dialect: TableDialect<S>
  #hasEnded = false

  /** @param session in which a transaction has begun; released at its end. */
  constructor(session: S, dialect: TableDialect<S>, notes: VersionNotes<S> | undefined) {
    this.#session = session
    this.#dialect = dialect
    if (notes === undefined) return
    this.known = (rows) => notes.take(session, rows)
    this.note = (rows) => notes.note(session, rows)
  }

  delete(rows: readonly Keyed[]): Promise<void> {
    return this.#dialect.delete(this.#session, rows)
  }

  upsert(rows: readonly Upsert[]): Promise<void> {
    return this.#dialect.upsert(this.#session, rows)
  }

  async attempt(body: () => Promise<void>): Promise<void> {
    await this.#session.run('savepoint pollux')
    try {
      await body()
      await this.#session.run(this.#dialect.release)
    } catch (error) {
      await this.#session.run('rollback to savepoint pollux').catch((second: unknown) => {
        // Where a deadlock takes the savepoints with it, the deadlock is what counts.
        throw this.#dialect.refusal(error) === undefined ? error : second
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
