import type { OutgoingRecord, TopicPartition } from './broker.ts'

/** Offsets from `from` (included) to `to` (excluded). */
export interface OffsetRange {
  readonly from: number
  readonly to: number
}

/** A partition to acquire, of a topic that its id tells from others of its name. */
export interface LedgerPartition extends TopicPartition {
  readonly topicId: string
}

/**
 * What the ledger says of a partition after it was acquired: one row per (service, topic, partition).
 * A position below `next`, or inside one of `settled`, has had its effect and is a duplicate for ever.
 */
export interface LedgerRow extends LedgerPartition {
  /** Higher at each acquire, and never given twice. Whoever holds another one than the row cannot commit. */
  readonly epoch: number
  /** Higher by one at each unit that changed this row; 0 before the first. */
  readonly unit: number
  /** The lowest offset whose effect is not in the store; undefined when the service has never worked on this partition. */
  readonly next: number | undefined
  /** Settled ranges above `next`, ascending, not touching each other. */
  readonly settled: readonly OffsetRange[]
  /** What earlier units stored to be published and nobody has acknowledged, oldest unit first. */
  readonly unpublished: readonly StoredOutputs[]
}

/** The outputs of one unit's messages of one partition, in the order in which they are to be published. */
export interface StoredOutputs {
  /** The number that the partition's row had after that unit. */
  readonly unit: number
  readonly records: readonly OutgoingRecord[]
}

/** Says that an event was applied. */
export interface Mark {
  /** The topic that the event came by. */
  readonly topic: string
  /** At most 256 bytes. */
  readonly id: Buffer
  /** Where its record lies: a mark may be forgotten only once the ledger has passed it. */
  readonly partition: number
  readonly offset: number
}

/** A key's state: its encoded value (null: none) and the version that a commit of this key must find. */
export interface StateRow {
  readonly value: Buffer | null
  /** 0 when there is no row. */
  readonly version: number
  /** What the service has noted beside the value: the newest event applied. Null when it has noted nothing. */
  readonly guard: string | null
}

/** New state of one key. */
export interface StateChange {
  readonly key: Buffer
  /** Null removes it. A row without value and without guard is deleted. */
  readonly value: Buffer | null
  /** The version it was computed from. */
  readonly version: number
  readonly guard: string | null
}

/** Progress of one partition, as the row is to read after the commit. */
export interface LedgerChange extends TopicPartition {
  /** The epoch under which the work was done. */
  readonly epoch: number
  /** The number that the row has before the commit, which raises it by one. */
  readonly unit: number
  readonly next: number
  readonly settled: readonly OffsetRange[]
  /** To be stored for publication after the commit. */
  readonly outputs: readonly OutgoingRecord[]
  /** Outputs stored by this unit and all earlier ones are acknowledged and may go; undefined: none since last told. */
  readonly acknowledged: number | undefined
}

/** What one transaction covers. Each mark, key and partition is there once at most. */
export interface Unit {
  readonly service: string
  readonly marks: readonly Mark[]
  readonly states: readonly StateChange[]
  readonly ledger: readonly LedgerChange[]
}

/**
 * What became of a unit. `committed`: all of it is durable, and `versions` are the new ones of `unit.states`, in
 * order (0 for a row that is gone). `conflict`: a key's version was another, or a mark is there already; nothing was
 * written. `fenced`: a partition has a newer owner or another unit number; nothing was written.
 */
export type CommitResult =
  | { readonly outcome: 'committed'; readonly versions: readonly number[] }
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'fenced' }

/** What is known of the keys and marks asked for, in their order. */
export interface Loaded {
  readonly states: readonly StateRow[]
  /** True where the event was applied. */
  readonly applied: readonly boolean[]
}

/** Outputs that are acknowledged: those of this unit and of all earlier ones of the partition. */
export interface AcknowledgedOutputs extends TopicPartition {
  /** The epoch under which they were published. */
  readonly epoch: number
  readonly unit: number
}

/** What an owner believes that the ledger says of a partition. */
export interface HeldRow extends TopicPartition {
  readonly epoch: number
  readonly unit: number
}

/** A transaction that handlers write in themselves, one message after the other. */
export interface StoreTransaction {
  /**
   * Runs one message's work. When `body` rejects, all that it wrote is taken back, what earlier attempts wrote stays,
   * and the rejection is passed on. `body` is given what the store's capability promises; it is dead afterwards.
   * Deferred constraints are checked at the end of each attempt, as its own failure.
   */
  attempt<T>(body: (capability: unknown) => Promise<T>): Promise<T>
  /** Why nothing more can come of it: the connection is gone, or the database gave it up. Undefined: it can go on. */
  readonly broken: Error | undefined
  /** Commits what the attempts wrote together with the unit, or nothing of it. Ends the transaction. */
  commit(unit: Unit): Promise<CommitResult>
  /** Takes everything back. Never rejects. Idempotent. */
  rollback(): Promise<void>
}

/** A step that `migrate` takes or would take. */
export interface MigrationStep {
  readonly number: number
  readonly name: string
  /** What is executed, as a person may run it by hand. */
  readonly statements: readonly string[]
}

/**
 * Keeps what services know: ledger, state, marks of applied events, and outputs that are not published yet. An
 * optimistic unit of work: read with versions, compute, commit under the condition that nothing moved.
 *
 * All methods may be called several at once. They reject with POLLUX_STORE_UNREACHABLE for what waiting can fix (the
 * caller repeats), with POLLUX_STORE_FAILED for what it cannot.
 */
export interface Store {
  /** What messages call it. Never holds a secret. */
  readonly name: string
  /** How many messages a unit has at most; undefined: as many as the engine likes. For stores that run on the event loop. */
  readonly largestUnit?: number | undefined
  /** Makes the store ready, tables included where it is set up to make them. Idempotent. */
  open(): Promise<void>
  /**
   * Takes over partitions: raises their epochs (making rows that are missing) and only then, in a later read, reports
   * them, with the topic id that each row was made with; from then on no older owner's commit succeeds. Waits for a
   * commit of the older owner that is under way, within a limit, after which that is ended. The rows come in the order
   * of `partitions`.
   *
   * The new epoch is the greater of the old one plus one and the store's clock in milliseconds: a row that was set back
   * by a fail-over hands out no epoch a second time.
   */
  acquire(service: string, partitions: readonly LedgerPartition[]): Promise<readonly LedgerRow[]>
  /** The state of these keys, and whether these events were applied. One round trip. */
  load(
    service: string,
    keys: readonly Buffer[],
    marks: readonly Pick<Mark, 'topic' | 'id'>[],
  ): Promise<Loaded>
  /**
   * All or nothing. After a rejection the caller does not know which. It may repeat the unit: if the first one was
   * committed, that is answered with `fenced`, as the unit numbers are other ones now.
   */
  commit(unit: Unit): Promise<CommitResult>
  /**
   * Deletes outputs that were acknowledged, as a unit does by the way: for when none follows. Where the row has another
   * epoch it deletes nothing, as the same unit number may be another owner's by now; that one publishes again.
   */
  acknowledge(service: string, partitions: readonly AcknowledgedOutputs[]): Promise<void>
  /**
   * Whether the ledger still says so of each row, in their order; false where there is none. One round trip. A store that
   * has lost what it confirmed is found out by this, also by an owner that has nothing to commit.
   */
  holds(service: string, rows: readonly HeldRow[]): Promise<readonly boolean[]>
  /** Partitions with outputs that were stored more than `age` milliseconds ago and are not acknowledged. */
  unpublished(service: string, age: number): Promise<readonly LedgerPartition[]>
  /**
   * Forgets marks that are older than `window` milliseconds by the store's clock and lie below the ledger's `next`: a
   * slice of them, small enough that nobody waits for it. False when a pass over all is complete.
   */
  forget(service: string, window: number): Promise<boolean>
  /** How handlers write in a unit's transaction themselves; undefined where the store cannot do that. */
  readonly transactions?: {
    /** The name of the capability that attempts are given. */
    readonly capability: string
    begin(): Promise<StoreTransaction>
  }
  /** Idempotent. */
  close(): Promise<void>
}

/** A store with tables of its own; what `pollux migrate` works with. None of these needs `open`. */
export interface MigratableStore extends Store {
  /** Brings the tables up to date. With `dryRun` it only tells the steps. */
  migrate(options?: { readonly dryRun?: boolean }): Promise<readonly MigrationStep[]>
  /** How the tables differ from what this version needs, a sentence each; empty when they do not. */
  verify(): Promise<readonly string[]>
  /**
   * For looking at tables that services keep beside the store's: what `work` asks is one snapshot, in a transaction that
   * cannot write. The store's own tables need not be there. Rejects as others do, and with what `work` rejects with.
   */
  read<T>(work: (db: Reading) => Promise<T>): Promise<T>
}

/** What runs SQL that reads; errors are the database's own. */
export interface Reading {
  query<Row extends object>(text: string, params?: readonly unknown[]): Promise<readonly Row[]>
}
