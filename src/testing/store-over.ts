import type { Store } from '../ports/store.ts'

/** A store that does what the given one does, but for these methods. */
export function storeOver(store: Store, changes: Partial<Store>): Store {
  return {
    name: store.name,
    open: () => store.open(),
    acquire: (...given) => store.acquire(...given),
    load: (...given) => store.load(...given),
    commit: (unit) => store.commit(unit),
    acknowledge: (...given) => store.acknowledge(...given),
    holds: (...given) => store.holds(...given),
    unpublished: (...given) => store.unpublished(...given),
    forget: (...given) => store.forget(...given),
    ...(store.transactions === undefined ? {} : { transactions: store.transactions }),
    close: () => store.close(),
    ...changes,
  }
}
