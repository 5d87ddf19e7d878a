import { PolluxError } from '../../src/errors.ts'
import type { Store } from '../../src/ports/store.ts'
import { storeOver } from './store-over.ts'

/** What goes wrong with one call; `lost answer` does the work and then seems not to have. */
export type StoreFault = 'unreachable' | 'lost answer' | 'conflict' | 'fenced' | 'taken over'

/** A store whose calls go wrong as `next` says, asked once for each call. */
export function faultyStore(
  store: Store,
  next: (call: 'acquire' | 'load' | 'commit') => StoreFault | undefined,
): Store {
  const troubled = async <T>(call: 'acquire' | 'load', action: () => Promise<T>): Promise<T> => {
    const fault = next(call)
    if (fault === 'unreachable') throw unreachable()
    const result = await action()
    if (fault === 'lost answer') throw unreachable()
    return result
  }
  return storeOver(store, {
    name: 'faulty',
    acquire: (service, partitions) => troubled('acquire', () => store.acquire(service, partitions)),
    load: (...given) => troubled('load', () => store.load(...given)),
    async commit(unit) {
      const fault = next('commit')
      if (fault === 'unreachable') throw unreachable()
      if (fault === 'conflict' || fault === 'fenced') return { outcome: fault }
      if (fault === 'taken over')
        await store.acquire(
          unit.service,
          unit.ledger.map((change) => ({ ...change, topicId: '' })),
        )
      const result = await store.commit(unit)
      if (fault === 'lost answer') throw unreachable()
      return result
    },
  })
}

export function unreachable(): PolluxError {
  return new PolluxError('POLLUX_STORE_UNREACHABLE', 'The store does not answer.')
}
