import type { StoreTransaction, Unit } from '../../ports/store.ts'
import { type StoreProbe, type UnitParts, versionsOf } from './store-probe.ts'

/** What handlers do in a store's transactions, as the adapter's test does it: on a table of its own. */
export interface TransactionSetup {
  /** Writes a row, or replaces its value, with what attempts are given. */
  write(capability: unknown, key: string, value: string): Promise<void>
  /** Writes what a deferred constraint forbids: succeeds, and makes its transaction fail where that is checked. */
  violate(capability: unknown): Promise<void>
  /** Reads a row from outside. Undefined when it is not there. */
  read(key: string): Promise<string | undefined>
}

/** A test of a store with transactions. */
export type TransactionTest = (probe: StoreProbe, own: OwnRows) => Promise<void>

/** Own rows of one test. */
export class OwnRows {
  readonly #probe: StoreProbe
  readonly #setup: TransactionSetup

  constructor(probe: StoreProbe, setup: TransactionSetup) {
    this.#probe = probe
    this.#setup = setup
  }

  begin(): Promise<StoreTransaction> {
    const { transactions } = this.#probe.store
    if (transactions === undefined) throw new Error('The store has no transactions any more.')
    return transactions.begin()
  }

  /** An attempt that writes one row. */
  attempt(transaction: StoreTransaction, key: string, value = 'written'): Promise<void> {
    return transaction.attempt((capability) => this.write(capability, key, value))
  }

  write(capability: unknown, key: string, value = 'written'): Promise<void> {
    return this.#setup.write(capability, this.#nameOf(key), value)
  }

  violate(capability: unknown): Promise<void> {
    return this.#setup.violate(capability)
  }

  read(...keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    return Promise.all(keys.map((key) => this.#setup.read(this.#nameOf(key))))
  }

  /** Commits a unit of the probe's service and expects that it worked. */
  async committed(
    transaction: StoreTransaction,
    parts: UnitParts = {},
  ): Promise<readonly number[]> {
    return versionsOf(parts, await transaction.commit(this.unit(parts)))
  }

  unit(parts: UnitParts = {}): Unit {
    return this.#probe.unit(parts)
  }

  // The table is the same for all tests.
  #nameOf(key: string): string {
    return `${this.#probe.service} ${key}`
  }
}
