import { PolluxError } from '../../src/errors.ts'
import type { Store, StoreTransaction, Unit } from '../../src/ports/store.ts'
import { storeOver } from '../../src/testing/store-over.ts'

/** What goes wrong with one call; `lost answer` does the work and then seems not to have. */
export type StoreFault = 'unreachable' | 'lost answer' | 'conflict' | 'fenced' | 'taken over'

type Call = 'acquire' | 'load' | 'commit' | 'begin' | 'attempt'

type NextFault = (call: Call) => StoreFault | undefined

/** A store whose calls go wrong as `next` says, asked once for each call. */
export function faultyStore(store: Store, next: NextFault): Store {
  const troubled = async <T>(call: Call, action: () => Promise<T>): Promise<T> => {
    const fault = next(call)
    if (fault === 'unreachable') throw unreachable()
    const result = await action()
    if (fault === 'lost answer') throw unreachable()
    return result
  }
  const { transactions } = store
  return storeOver(store, {
    name: 'faulty',
    acquire: (service, partitions) => troubled('acquire', () => store.acquire(service, partitions)),
    load: (...given) => troubled('load', () => store.load(...given)),
    commit: (unit) => troubledCommit(store, next, unit, () => store.commit(unit)),
    ...(transactions === undefined
      ? {}
      : {
          transactions: {
            capability: transactions.capability,
            begin: async () => {
              if (next('begin') !== undefined) throw unreachable()
              return new FaultyTransaction(store, await transactions.begin(), next)
            },
          },
        }),
  })
}

async function troubledCommit(
  store: Store,
  next: NextFault,
  unit: Unit,
  commit: () => ReturnType<Store['commit']>,
): ReturnType<Store['commit']> {
  const fault = next('commit')
  if (fault === 'unreachable') throw unreachable()
  if (fault === 'conflict' || fault === 'fenced') return { outcome: fault }
  if (fault === 'taken over')
    await store.acquire(
      unit.service,
      unit.ledger.map((change) => ({ ...change, topicId: '' })),
    )
  const result = await commit()
  if (fault === 'lost answer') throw unreachable()
  return result
}

/** A transaction that may end in the middle of an attempt, and whose commit may go wrong. */
class FaultyTransaction implements StoreTransaction {
  readonly #store: Store
  readonly #transaction: StoreTransaction
  readonly #next: NextFault
  broken: Error | undefined

  constructor(store: Store, transaction: StoreTransaction, next: NextFault) {
    this.#store = store
    this.#transaction = transaction
    this.#next = next
  }

  attempt<T>(body: (capability: unknown) => Promise<T>): Promise<T> {
    return this.#transaction.attempt(async (capability) => {
      const result = await body(capability)
      if (this.#next('attempt') === undefined) return result
      this.broken = unreachable()
      throw this.broken
    })
  }

  commit(unit: Unit): ReturnType<Store['commit']> {
    return troubledCommit(this.#store, this.#next, unit, () => this.#transaction.commit(unit))
  }

  rollback(): Promise<void> {
    return this.#transaction.rollback()
  }
}

export function unreachable(): PolluxError {
  return new PolluxError('POLLUX_STORE_UNREACHABLE', 'The store does not answer.')
}
