import { PolluxError } from '../errors.ts'
import type { CommitResult, StoreTransaction, Unit } from '../ports/store.ts'
import { commit } from './commit.ts'
import type { SqlConnection, SqlSession } from './sql.ts'
import { sqlState, storeError } from './sql-errors.ts'
import { TransactionAttempt } from './transaction-attempt.ts'

/** What a transaction needs to know of its store. */
export interface TransactionStore {
  readonly name: string
  /** A quoted identifier. */
  readonly schema: string
}

/** Begins a transaction that handlers write in. */
export async function beginTransaction(
  connection: SqlConnection,
  store: TransactionStore,
): Promise<StoreTransaction> {
  const session = await connection.session({ sharesReads: true })
  try {
    await session.run('begin isolation level read committed; savepoint pollux')
  } catch (error) {
    session.release(true)
    throw error
  }
  return new SqlTransaction(session, store)
}

// Runs what deferred constraints have to check, as its own failure of the attempt, and takes back that
// they are immediate from then on: the next attempt may rely on their being deferred. They are checked
// once more at the end. Then what the attempt wrote is kept, and the next one may begin.
const endOfAttempt =
  'savepoint pollux_check; set constraints all immediate; rollback to savepoint pollux_check; ' +
  'release savepoint pollux; savepoint pollux'

class SqlTransaction implements StoreTransaction {
  readonly #session: SqlSession
  readonly #store: TransactionStore
  #broken: PolluxError | undefined
  #state: 'idle' | 'attempt' | 'ended' = 'idle'

  constructor(session: SqlSession, store: TransactionStore) {
    this.#session = session
    this.#store = store
  }

  get broken(): PolluxError | undefined {
    return this.#broken
  }

  async attempt<T>(body: (capability: unknown) => Promise<T>): Promise<T> {
    this.#begin('attempt')
    const attempt = new TransactionAttempt((text, params) => this.#query(text, params))
    try {
      const value = await body(attempt.capability)
      const failure = await attempt.end()
      if (failure !== undefined) throw failure
      if (attempt.hasWritten) await this.#send(endOfAttempt)
      return value
    } catch (error) {
      await attempt.end()
      if (attempt.hasWritten) await this.#takeBack()
      throw error
    } finally {
      if (this.#state === 'attempt') this.#state = 'idle'
    }
  }

  async commit(unit: Unit): Promise<CommitResult> {
    this.#begin('ended')
    try {
      if (this.#broken !== undefined) throw this.#broken
      this.#session.endSharing()
      const result = await commit(this.#session, this.#store.schema, unit)
      if (result.outcome === 'committed') await this.#commitForGood()
      else await this.#rollback()
      this.#session.release(false)
      return result
    } catch (error) {
      await this.#rollback().catch(() => {})
      this.#session.release(true)
      throw storeError(this.#store.name, error)
    }
  }

  async rollback(): Promise<void> {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    try {
      await this.#rollback()
      this.#session.release(false)
    } catch {
      // The server does it when the connection ends.
      this.#session.release(true)
    }
  }

  #begin(state: 'attempt' | 'ended'): void {
    if (this.#state !== 'idle') {
      const what = this.#state === 'ended' ? 'has ended' : 'is in use by another attempt'
      throw new PolluxError('POLLUX_STORE_FAILED', `The transaction ${what}.`)
    }
    this.#state = state
  }

  async #query(text: string, params: readonly unknown[]): Promise<readonly object[]> {
    if (this.#broken !== undefined) throw this.#broken
    try {
      return await this.#session.query(text, params)
    } catch (error) {
      this.#noteTrouble(error)
      // At once: until then the database answers nothing else in this session, reads of the store included.
      await this.#takeBack()
      throw error
    }
  }

  /** Takes back what the attempt wrote. */
  async #takeBack(): Promise<void> {
    try {
      await this.#session.run('rollback to savepoint pollux')
    } catch (error) {
      this.#broken ??= storeError(this.#store.name, error)
    }
  }

  async #send(text: string): Promise<void> {
    try {
      await this.#session.run(text)
    } catch (error) {
      this.#noteTrouble(error)
      throw error
    }
  }

  /** Notes what passes by itself, and so is not the message's fault: all of the transaction is to be done again. */
  #noteTrouble(error: unknown): void {
    const told = storeError(this.#store.name, error)
    if (told.code === 'POLLUX_STORE_UNREACHABLE') this.#broken ??= told
  }

  async #commitForGood(): Promise<void> {
    try {
      await this.#session.run('commit')
    } catch (error) {
      if (sqlState(error) === undefined) throw error
      // A deferred constraint held at the end of its attempt, and does not now, as others have written meanwhile. The
      // attempt will say so when all is done again.
      throw new PolluxError(
        'POLLUX_STORE_UNREACHABLE',
        `The store ${this.#store.name} could not end a transaction.`,
        { found: storeError(this.#store.name, error).found ?? 'no reason' },
      )
    }
  }

  #rollback(): Promise<void> {
    return this.#session.run('rollback')
  }
}
