import type {
  Broker,
  BrokerProducer,
  OutgoingRecord,
  Position,
  TopicPartition,
} from '../../src/ports/broker.ts'

/** What a test sees of, and does to, the traffic between a runtime and its broker. */
export interface BrokerWatch {
  /** Called before positions are committed; throwing refuses them. */
  readonly committing?: (positions: readonly Position[]) => void | Promise<void>
  /** Called after the group has taken positions. */
  readonly committed?: () => void
  /** Called before the runtime hears of new partitions. */
  readonly assigned?: (partitions: readonly TopicPartition[]) => void
  /** Called before the runtime hears that partitions are wanted back. */
  readonly revoking?: (partitions: readonly TopicPartition[]) => void
  readonly pausing?: (partitions: readonly TopicPartition[]) => void
  /** Called after each poll. */
  readonly polled?: (count: number) => void
  /** Called before records are sent. Why one of them is refused; undefined takes it. */
  readonly refusing?: (record: OutgoingRecord) => Error | undefined
  /** Awaited before records are sent. */
  readonly sending?: (records: readonly OutgoingRecord[]) => void | Promise<void>
  /** Called after records were acknowledged. */
  readonly sent?: () => void
}

/** The same broker, watched. */
export function watchedBroker(broker: Broker, watch: BrokerWatch): Broker {
  return {
    name: broker.name,
    admin: broker.admin,
    connect: () => broker.connect(),
    reader: (from) => broker.reader(from),
    close: () => broker.close(),
    producer: async () => watchedProducer(await broker.producer(), watch),
    async join(subscription, listener) {
      const member = await broker.join(subscription, {
        assigned: (partitions) => {
          watch.assigned?.(partitions)
          return listener.assigned(partitions)
        },
        revoked: (partitions) => {
          watch.revoking?.(partitions)
          return listener.revoked(partitions)
        },
        lost: (partitions) => listener.lost(partitions),
      })
      return {
        async poll(max) {
          const records = await member.poll(max)
          watch.polled?.(records.length)
          return records
        },
        pause(partitions) {
          watch.pausing?.(partitions)
          member.pause(partitions)
        },
        resume: (partitions) => member.resume(partitions),
        seek: (positions) => member.seek(positions),
        leave: () => member.leave(),
        async commit(positions) {
          await watch.committing?.(positions)
          await member.commit(positions)
          watch.committed?.()
        },
      }
    },
  }
}

function watchedProducer(producer: BrokerProducer, watch: BrokerWatch): BrokerProducer {
  return {
    check: (record) => producer.check(record),
    close: () => producer.close(),
    async send(records) {
      await watch.sending?.(records)
      const refusals = records.flatMap((record, index) => {
        const error = watch.refusing?.(record)
        return error === undefined ? [] : [{ index, error }]
      })
      const refused = new Set(refusals.map(({ index }) => index))
      const taken = records.map((_, index) => index).filter((index) => !refused.has(index))
      const more = await producer.send(taken.map((index) => records[index] as OutgoingRecord))
      watch.sent?.()
      return [
        ...refusals,
        ...more.map(({ index, error }) => ({ index: taken[index] ?? index, error })),
      ]
    },
  }
}
