import type { Broker } from '../ports/broker.ts'

/** A broker that does what the given one does, but for these methods. */
export function brokerOver(broker: Broker, changes: Partial<Broker>): Broker {
  return {
    name: broker.name,
    ...(broker.instanceId === undefined ? {} : { instanceId: broker.instanceId }),
    admin: broker.admin,
    connect: () => broker.connect(),
    join: (...given) => broker.join(...given),
    producer: () => broker.producer(),
    ...(broker.transactionalProducer === undefined
      ? {}
      : { transactionalProducer: broker.transactionalProducer.bind(broker) }),
    reader: (from) => broker.reader(from),
    close: () => broker.close(),
    ...changes,
  }
}
