import type { Broker } from '../../src/ports/broker.ts'
import type { Store } from '../../src/ports/store.ts'

/** The same broker, for a runtime that is not to close it at its end. */
export function borrowBroker(broker: Broker): Broker {
  return {
    name: broker.name,
    admin: broker.admin,
    connect: () => broker.connect(),
    join: (subscription, listener) => broker.join(subscription, listener),
    producer: () => broker.producer(),
    reader: (from) => broker.reader(from),
    close: async () => {},
  }
}

/** The same store, for a runtime that is not to close it at its end. */
export function borrowStore(store: Store): Store {
  return {
    name: store.name,
    largestUnit: store.largestUnit,
    open: () => store.open(),
    acquire: (service, partitions) => store.acquire(service, partitions),
    load: (service, keys, marks) => store.load(service, keys, marks),
    commit: (unit) => store.commit(unit),
    acknowledge: (service, partitions) => store.acknowledge(service, partitions),
    holds: (service, rows) => store.holds(service, rows),
    unpublished: (service, age) => store.unpublished(service, age),
    forget: (service, window) => store.forget(service, window),
    ...(store.transactions === undefined ? {} : { transactions: store.transactions }),
    close: async () => {},
  }
}
