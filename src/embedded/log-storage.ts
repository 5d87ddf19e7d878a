import type { Header } from '../message.ts'
import type { LogRange, Position, TopicPartition } from '../ports/broker.ts'
import type { GroupState } from './group-state.ts'

/** A topic as stored. Never changes once it is there. */
export interface StoredTopic {
  readonly name: string
  /** Told from a topic of the same name in another folder, or of another time. */
  readonly id: string
  readonly partitions: number
  /** Records older than this go, in milliseconds; undefined keeps them. */
  readonly retentionMs: number | undefined
  /** Records kept in each partition; undefined keeps all. */
  readonly retentionRecords: number | undefined
}

/** A record as stored. */
export interface StoredRecord {
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly Header[]
}

/** A stored record with its place. */
export interface LogEntry extends StoredRecord {
  readonly offset: number
}

/** A connection that has group members. */
export interface Session {
  readonly id: string
  /** Counts up as long as the connection lives. */
  readonly beats: number
  readonly pid: number
  /** Where `pid` means something. */
  readonly host: string
}

/** What can be read at any time. */
export interface LogReads {
  topics(): readonly StoredTopic[]
  topic(name: string): StoredTopic | undefined
  range(partition: TopicPartition): LogRange
  /** At most `max` records from `offset` on. Their bytes are the caller's own. */
  read(partition: TopicPartition, offset: number, max: number): readonly LogEntry[]
  /** The first offset at or after a time; undefined when there is none. */
  firstAt(partition: TopicPartition, timestamp: number): number | undefined
  groupNames(): readonly string[]
  group(name: string): GroupState | undefined
  /** Committed positions, by topic and partition. */
  offsets(group: string): readonly Position[]
  sessions(): readonly Session[]
}

/** What can be changed inside `LogStorage.write`. Topics and partitions must exist. */
export interface LogWrites extends LogReads {
  addTopic(topic: StoredTopic): void
  append(partition: TopicPartition, records: readonly StoredRecord[]): void
  /** Removes the records before an offset. */
  trim(partition: TopicPartition, before: number): void
  saveGroup(name: string, group: GroupState): void
  saveOffsets(group: string, positions: readonly Position[]): void
  /** How often a transactional id was taken; undefined when it never was. */
  producerEpoch(id: string): number | undefined
  saveProducerEpoch(id: string, epoch: number): void
  saveSession(session: Session): void
  /** False when the session is not there. */
  beat(session: string): boolean
  removeSession(session: string): void
}

/** Keeps topics, records, groups and offsets: in memory, or in a file that several processes share. */
export interface LogStorage {
  readonly name: string
  /** True when other processes may use it too, so members need sessions that can expire. */
  readonly isShared: boolean
  open(): Promise<void>
  readonly reads: LogReads
  /**
   * Runs a task as one transaction, after those asked for before. Resolves when its effect survives a kill of the
   * process. A task that throws has no effect.
   */
  write<T>(task: (log: LogWrites) => T): Promise<T>
  /** Calls back after each change, those of other processes included. Returns what ends it. */
  onChange(listener: () => void): () => void
  /** Idempotent. */
  close(): Promise<void>
}
