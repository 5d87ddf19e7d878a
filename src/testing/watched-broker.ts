import type {
  Broker,
  BrokerProducer,
  GroupListener,
  GroupMember,
  OutgoingRecord,
  Position,
  TopicPartition,
  TransactionalProducer,
} from '../ports/broker.ts'
import { brokerOver } from './broker-over.ts'

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
  /** Awaited before records are sent, in a transaction as well. */
  readonly publishing?: (records: readonly OutgoingRecord[]) => void | Promise<void>
  /** Called when records are on their way, unless that takes no time. */
  readonly sending?: () => void
  /** Called after records were acknowledged, or their transaction has ended. */
  readonly published?: () => void
  /** Called after the runtime has heard of that. */
  readonly acknowledged?: () => void
}

/** The same broker, watched. */
export function watchedBroker(broker: Broker, watch: BrokerWatch): Broker {
  const { transactionalProducer } = broker
  return brokerOver(broker, {
    producer: async () => watchedProducer(await broker.producer(), watch),
    async join(subscription, listener) {
      const member = await broker.join(subscription, watchedListener(listener, watch))
      return watchedMember(member, watch)
    },
    ...(transactionalProducer === undefined
      ? {}
      : {
          transactionalProducer: async (id) =>
            watchedTransactions(await transactionalProducer.call(broker, id), watch),
        }),
  })
}

function watchedListener(listener: GroupListener, watch: BrokerWatch): GroupListener {
  return {
    assigned: (partitions) => {
      watch.assigned?.(partitions)
      return listener.assigned(partitions)
    },
    revoked: (partitions) => {
      watch.revoking?.(partitions)
      return listener.revoked(partitions)
    },
    lost: (partitions) => listener.lost(partitions),
  }
}

/** The broker's own members, by those that stand for them: its transactions know no others. */
const members = new WeakMap<GroupMember, GroupMember>()

function watchedMember(member: GroupMember, watch: BrokerWatch): GroupMember {
  const watched: GroupMember = {
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
  members.set(watched, member)
  return watched
}

function watchedProducer(producer: BrokerProducer, watch: BrokerWatch): BrokerProducer {
  return {
    check: (record) => producer.check(record),
    close: () => producer.close(),
    async send(records) {
      const refusals = records.flatMap((record, index) => {
        const error = watch.refusing?.(record)
        return error === undefined ? [] : [{ index, error }]
      })
      const refused = new Set(refusals.map(({ index }) => index))
      const taken = records.map((_, index) => index).filter((index) => !refused.has(index))
      const more = await watchedSending(records, watch, () =>
        producer.send(taken.map((index) => records[index] as OutgoingRecord)),
      )
      return [
        ...refusals,
        ...more.map(({ index, error }) => ({ index: taken[index] ?? index, error })),
      ]
    },
  }
}

function watchedTransactions(
  producer: TransactionalProducer,
  watch: BrokerWatch,
): TransactionalProducer {
  return {
    check: (record) => producer.check(record),
    close: () => producer.close(),
    transact: (records, positions, member) =>
      watchedSending(records, watch, () =>
        producer.transact(records, positions, members.get(member) ?? member),
      ),
  }
}

async function watchedSending<T>(
  records: readonly OutgoingRecord[],
  watch: BrokerWatch,
  send: () => Promise<T>,
): Promise<T> {
  await watch.publishing?.(records)
  const sending = send()
  const underWay = watch.sending === undefined ? undefined : setTimeout(watch.sending, nextDelay())
  const result = await sending
  clearTimeout(underWay)
  watch.published?.()
  // What waits for the result runs in this turn.
  if (watch.acknowledged !== undefined) setImmediate(watch.acknowledged)
  return result
}

// Now at its beginning, now in its middle; most take a few milliseconds, transactions more.
const delays = [0, 2, 5, 10]
let sends = 0

function nextDelay(): number {
  sends += 1
  return delays[sends % delays.length] ?? 0
}
