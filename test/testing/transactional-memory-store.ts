import type { CommitResult, Store, StoreTransaction, Unit } from '../../src/ports/store.ts'
import type { TransactionSetup } from '../../src/testing/store-contract.ts'

/** A table in memory that handlers write in, in transactions of a store that has none itself. */
export class MemoryTable implements TransactionSetup {
  readonly rows = new Map<string, string>()

  async write(capability: unknown, key: string, value: string): Promise<void> {
    ;(capability as Attempt).write(key, value)
  }

  async violate(capability: unknown): Promise<void> {
    ;(capability as Attempt).isInViolation = true
  }

  async read(key: string): Promise<string | undefined> {
    return this.rows.get(key)
  }

  /** Gives the store transactions that write in this table. */
  join(store: Store): Store {
    const begin = async (): Promise<StoreTransaction> => {
      // Refused if the store is not open.
      await store.load('', [], [])
      return new TableTransaction(store, this.rows)
    }
    return Object.assign(store, { transactions: { capability: 'memoryTable', begin } })
  }
}

/** What one attempt writes, on top of what earlier ones wrote. */
class Attempt {
  readonly written: Map<string, string>
  isOver = false
  isInViolation = false

  constructor(earlier: ReadonlyMap<string, string>) {
    this.written = new Map(earlier)
  }

  write(key: string, value: string): void {
    if (this.isOver) throw new Error('The attempt is over.')
    this.written.set(key, value)
  }
}

class TableTransaction implements StoreTransaction {
  readonly broken = undefined
  readonly #store: Store
  readonly #rows: Map<string, string>
  #written: ReadonlyMap<string, string> = new Map()
  #isOver = false

  constructor(store: Store, rows: Map<string, string>) {
    this.#store = store
    this.#rows = rows
  }

  async attempt<T>(body: (capability: unknown) => Promise<T>): Promise<T> {
    this.#checkOpen()
    const attempt = new Attempt(this.#written)
    try {
      const value = await body(attempt)
      if (attempt.isInViolation) throw new Error('The constraint is violated.')
      this.#written = attempt.written
      return value
    } finally {
      attempt.isOver = true
    }
  }

  async commit(unit: Unit): Promise<CommitResult> {
    this.#checkOpen()
    this.#isOver = true
    const result = await this.#store.commit(unit)
    if (result.outcome === 'committed') {
      for (const [key, value] of this.#written) this.#rows.set(key, value)
    }
    return result
  }

  async rollback(): Promise<void> {
    this.#isOver = true
  }

  #checkOpen(): void {
    if (this.#isOver) throw new Error('The transaction has ended.')
  }
}
