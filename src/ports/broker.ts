import type { Header, RawMessage } from '../message.ts'
import type { Logger } from './logger.ts'

/** One partition of one topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** A position in a partition: the offset of the next record to read. A safe integer. */
export interface Position extends TopicPartition {
  readonly offset: number
  /** Of a committed position: a text of at most 200 printable characters, stored beside it. */
  readonly metadata?: string | undefined
}

/**
 * A log of records with consumer groups: Kafka, or the embedded one.
 *
 * Adapters wait out what passes by itself (a broker that restarts, a leader that moves) and reject only with what
 * needs a person, as a PolluxError. No method's error holds a secret. All methods may be called at any time,
 * several at once; after `close` they reject with POLLUX_BROKER_CLOSED.
 */
export interface Broker {
  /** What messages call it, e.g. `kafka localhost:9092` or `embedded .pollux`. Never holds a secret. */
  readonly name: string
  /** Tells this process from the others of its services, across restarts; undefined when nothing does. */
  readonly instanceId?: string | undefined
  /** Takes up the connection. Rejects with POLLUX_BROKER_UNREACHABLE when nothing answers within the adapter's limit. */
  connect(): Promise<void>
  /** Enters a consumer group. Resolves when the request is on its way; partitions come by `listener.assigned`. */
  join(subscription: Subscription, listener: GroupListener): Promise<GroupMember>
  /** A producer of its own: idempotent, acknowledged by all in-sync replicas. */
  producer(): Promise<BrokerProducer>
  /**
   * A producer whose records and offsets become visible together; undefined where the broker has no transactions.
   * `id` names it for the broker: a newer one of the same id fences an older one.
   */
  transactionalProducer?(id: string): Promise<TransactionalProducer>
  /** Reads from given positions without a group and without a trace. */
  reader(from: readonly Position[]): Promise<BrokerReader>
  readonly admin: BrokerAdmin
  /** Closes what is left open. Members leave their groups. Idempotent. */
  close(): Promise<void>
}

export interface Subscription {
  readonly group: string
  /** All exist already. */
  readonly topics: readonly string[]
  /** Where a partition without a committed offset starts. */
  readonly start: 'earliest' | 'latest'
  /** Takes the adapter's own log lines; never a secret. */
  readonly logger: Logger
}

/** A partition that was just assigned. */
export interface AssignedPartition extends TopicPartition {
  /** The group's committed offset; undefined when there is none. */
  readonly committed: number | undefined
  /** What `committed` was stored with; undefined or empty when that was nothing. */
  readonly metadata?: string | undefined
  /** Where reading starts if the listener does not say otherwise: `committed`, else by `subscription.start`. */
  readonly start: number
}

/**
 * What a member tells its owner. Calls come one after the other; the next waits for the promise of the last.
 * `lost` may come while `revoked` is being awaited, as its result does not matter any more then.
 */
export interface GroupListener {
  /**
   * New partitions. Nothing of them is delivered until the promise resolves; its value overrides start positions.
   * `commit` works for them already.
   */
  assigned(partitions: readonly AssignedPartition[]): Promise<readonly Position[]>
  /**
   * Partitions are wanted back. They stay ours, and `commit` works for them, until the promise resolves:
   * drain and commit happen inside. Nothing of them is delivered by a `poll` called after this call.
   */
  revoked(partitions: readonly TopicPartition[]): Promise<void>
  /** Partitions belong to somebody else already: stop, commit nothing. */
  lost(partitions: readonly TopicPartition[]): void
}

/** One member of a consumer group. */
export interface GroupMember {
  /**
   * At most `max` records, in offset order per partition. Resolves as soon as there is one, with none when the
   * adapter's own waiting time is over or the member leaves. One call at a time. Must be called again and again,
   * however busy the caller is: that is what keeps the membership; pause partitions to receive nothing.
   */
  poll(max: number): Promise<readonly RawMessage[]>
  /** Delivers nothing of these from the next `poll` on. Partitions that are not ours are passed over. */
  pause(partitions: readonly TopicPartition[]): void
  /** Ends a pause; a pending `poll` may deliver at once. */
  resume(partitions: readonly TopicPartition[]): void
  /** Moves the reading position of partitions that are ours. Records of before may not be delivered afterwards. */
  seek(positions: readonly Position[]): Promise<void>
  /** Stores positions for the group, with their metadata. Rejects when the group refuses; nothing is retried across a rebalance. */
  commit(positions: readonly Position[]): Promise<void>
  /** Gives up all partitions by `revoked`, and leaves. Idempotent. A pending `poll` resolves. */
  leave(): Promise<void>
}

/** A record to write. */
export interface OutgoingRecord {
  readonly topic: string
  /** Chosen by key, as Java's default partitioner does, when undefined; by the adapter when there is no key either. */
  readonly partition: number | undefined
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly Header[]
  /** Milliseconds since 1970; undefined is now. */
  readonly timestamp: number | undefined
}

/** A record that the broker did not take, and never will as it is. */
export interface Refusal {
  /** Its place in the batch. */
  readonly index: number
  /** POLLUX_RECORD_TOO_LARGE: a smaller one may be taken. POLLUX_TOPIC_UNKNOWN: its topic has gone. */
  readonly error: Error
}

export interface BrokerProducer {
  /**
   * Writes records; those of one partition in the order given, calls one after the other. Resolves when each is
   * acknowledged by all in-sync replicas or refused for good; waits as long as that takes. The refusals are its value.
   */
  send(records: readonly OutgoingRecord[]): Promise<readonly Refusal[]>
  /** Why the broker would refuse this record (its size, for one), known without asking; undefined when nothing speaks against it. */
  check(record: OutgoingRecord): Error | undefined
  /** Waits for nothing that `send` has not awaited. Idempotent. */
  close(): Promise<void>
}

/**
 * What became of a transaction. `committed`: records and positions are there, both. `aborted`: neither is, and never
 * will be; with `refusals` for records that the broker will never take, without any when the group did not accept the
 * positions (a rebalance is under way, or the partitions are somebody else's).
 */
export type TransactionResult =
  | { readonly outcome: 'committed' }
  | { readonly outcome: 'aborted'; readonly refusals: readonly Refusal[] }

export interface TransactionalProducer {
  /**
   * Writes records and stores positions for the member's group, all or nothing; readers see the records only once it is
   * committed (isolation `read_committed`). The group accepts positions of its present members only. One call at a
   * time. Waits as long as it takes; rejects with POLLUX_BROKER_REFUSED when a newer producer has its id.
   */
  transact(
    records: readonly OutgoingRecord[],
    positions: readonly Position[],
    member: GroupMember,
  ): Promise<TransactionResult>
  /** As `BrokerProducer.check`. */
  check(record: OutgoingRecord): Error | undefined
  /** Aborts what is under way. Idempotent. */
  close(): Promise<void>
}

export interface BrokerReader {
  /** As `GroupMember.poll`. */
  poll(max: number): Promise<readonly RawMessage[]>
  close(): Promise<void>
}

export interface TopicDescription {
  readonly name: string
  readonly partitions: number
}

export interface NewTopic {
  readonly name: string
  readonly partitions: number
  /** Copies of each partition; undefined is the broker's default. Not used by the embedded broker. */
  readonly replicas?: number | undefined
  /** Kafka's topic settings, e.g. `{ 'retention.ms': '86400000' }`. The embedded broker knows `retention.ms` and `pollux.retention.records`. */
  readonly config?: Readonly<Record<string, string>> | undefined
}

/** The ends of one partition's log: the first record kept, and the next to be written. */
export interface LogRange extends TopicPartition {
  readonly earliest: number
  readonly latest: number
}

export interface GroupDescription {
  readonly group: string
  /** As Kafka names them: `Stable`, `Empty`, `PreparingRebalance`, …; `Dead` for a group that does not exist. */
  readonly state: string
  readonly members: readonly {
    readonly id: string
    readonly clientId: string
    readonly host: string
    readonly partitions: readonly TopicPartition[]
  }[]
  /** Committed positions. */
  readonly offsets: readonly Position[]
}

export interface BrokerAdmin {
  /** All topics but the broker's internal ones, by name. */
  topics(): Promise<readonly TopicDescription[]>
  /** Makes what does not exist yet; what exists stays as it is. */
  createTopics(topics: readonly NewTopic[]): Promise<void>
  /**
   * What identifies each of these topics, by name: another text once a topic was deleted and made anew, and on another
   * cluster. Rejects with POLLUX_TOPIC_UNKNOWN.
   */
  topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** The ends of the logs of these topics' partitions. Rejects with POLLUX_TOPIC_UNKNOWN. */
  ranges(topics: readonly string[]): Promise<readonly LogRange[]>
  /** The first offset at or after a time (milliseconds since 1970), per partition; the log's end when there is none. */
  offsetsAt(topic: string, timestamp: number): Promise<readonly Position[]>
  /** The names of all groups. */
  groups(): Promise<readonly string[]>
  group(name: string): Promise<GroupDescription>
}
