import type { TopicPartition } from './broker.ts'

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
  /** Higher at each acquire. Whoever holds an older one cannot commit. */
  readonly epoch: number
  /** The lowest offset whose effect is not in the store; undefined when the service has never worked on this partition. */
  readonly next: number | undefined
  /** Settled ranges above `next`, ascending, not touching each other. */
  readonly settled: readonly OffsetRange[]
}

/** A key's state: its encoded value (null: none) and the version that a commit of this key must find. */
export interface StateRow {
  readonly value: Buffer | null
  readonly version: number
}

/** New state of one key. */
export interface StateChange {
  readonly key: Buffer
  /** Null removes it. */
  readonly value: Buffer | null
  /** The version it was computed from. */
  readonly version: number
}

/** Progress of one partition, as the row is to read after the commit. */
export interface LedgerChange extends TopicPartition {
  /** The epoch under which the work was done. */
  readonly epoch: number
  readonly next: number
  readonly settled: readonly OffsetRange[]
}

/** What one transaction covers. Each key and each partition is there once at most. */
export interface Unit {
  readonly service: string
  readonly states: readonly StateChange[]
  readonly ledger: readonly LedgerChange[]
}

/**
 * What became of a unit. `committed`: all of it is durable, and `versions` are the new ones of `unit.states`, in
 * order. `conflict`: a key's version was another, nothing was written. `fenced`: a partition has a newer owner,
 * nothing was written.
 */
export type CommitResult =
  | { readonly outcome: 'committed'; readonly versions: readonly number[] }
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'fenced' }

/**
 * Keeps a service's state and its ledger. An optimistic unit of work: read with versions, compute, commit under
 * the condition that nothing moved.
 *
 * All methods may be called several at once. They reject with POLLUX_STORE_UNREACHABLE for what waiting can fix (the
 * caller repeats), with POLLUX_STORE_FAILED for what it cannot.
 */
export interface Store {
  /** What messages call it. Never holds a secret. */
  readonly name: string
  /** Makes the store ready, tables included. Idempotent. */
  open(): Promise<void>
  /**
   * Takes over partitions: raises their epochs (making rows that are missing) and only then, in a later read, reports
   * them, with the topic id that each row was made with; from then on no older owner's commit succeeds. The rows come in the order of `partitions`.
   */
  acquire(service: string, partitions: readonly LedgerPartition[]): Promise<readonly LedgerRow[]>
  /** The state of these keys, in their order; `{ value: null, version: 0 }` for a key without any. */
  load(service: string, keys: readonly Buffer[]): Promise<readonly StateRow[]>
  /** All or nothing. After a rejection the caller does not know which; the ledger does. */
  commit(unit: Unit): Promise<CommitResult>
  /** Idempotent. */
  close(): Promise<void>
}
