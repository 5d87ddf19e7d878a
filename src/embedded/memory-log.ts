import type { Header } from '../message.ts'
import type { LogRange, Position, TopicPartition } from '../ports/broker.ts'
import type { GroupState } from './group-state.ts'
import type {
  LogEntry,
  LogReads,
  LogStorage,
  LogWrites,
  Session,
  StoredRecord,
  StoredTopic,
} from './log-storage.ts'
import { partitionKey } from './partition-key.ts'
import { sortedPositions } from './positions.ts'

/** A log in this process's memory. Brokers that are given the same one form one cluster. */
export class MemoryLog implements LogStorage, LogWrites {
  readonly name = 'memory'
  readonly isShared = false
  readonly #topics = new Map<string, StoredTopic>()
  readonly #partitions = new Map<string, PartitionLog>()
  readonly #groups = new Map<string, GroupState>()
  readonly #offsets = new Map<string, Map<string, Position>>()
  readonly #producers = new Map<string, number>()
  readonly #listeners = new Set<() => void>()

  async open(): Promise<void> {}

  get reads(): LogReads {
    return this
  }

  /** Runs at once. Tasks check before they change, so one that throws has changed nothing. */
  async write<T>(task: (log: LogWrites) => T): Promise<T> {
    const result = task(this)
    for (const listener of this.#listeners) listener()
    return result
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async close(): Promise<void> {}

  topics(): readonly StoredTopic[] {
    return [...this.#topics.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  topic(name: string): StoredTopic | undefined {
    return this.#topics.get(name)
  }

  range({ topic, partition }: TopicPartition): LogRange {
    const { earliest, latest } = this.#partition({ topic, partition })
    return { topic, partition, earliest, latest }
  }

  read(partition: TopicPartition, offset: number, max: number): readonly LogEntry[] {
    return this.#partition(partition).read(offset, max)
  }

  firstAt(partition: TopicPartition, timestamp: number): number | undefined {
    return this.#partition(partition).firstAt(timestamp)
  }

  groupNames(): readonly string[] {
    return [...new Set([...this.#groups.keys(), ...this.#offsets.keys()])].toSorted()
  }

  group(name: string): GroupState | undefined {
    return this.#groups.get(name)
  }

  offsets(group: string): readonly Position[] {
    return sortedPositions(this.#offsets.get(group)?.values() ?? [])
  }

  sessions(): readonly Session[] {
    return []
  }

  addTopic(topic: StoredTopic): void {
    this.#topics.set(topic.name, topic)
    for (let partition = 0; partition < topic.partitions; partition += 1) {
      this.#partitions.set(partitionKey({ topic: topic.name, partition }), new PartitionLog())
    }
  }

  append(partition: TopicPartition, records: readonly StoredRecord[]): void {
    this.#partition(partition).append(records)
  }

  trim(partition: TopicPartition, before: number): void {
    this.#partition(partition).trim(before)
  }

  saveGroup(name: string, group: GroupState): void {
    this.#groups.set(name, group)
  }

  saveOffsets(group: string, positions: readonly Position[]): void {
    const offsets = this.#offsets.get(group) ?? new Map<string, Position>()
    for (const { topic, partition, offset, metadata } of positions) {
      const position = { topic, partition, offset, ...(metadata === undefined ? {} : { metadata }) }
      offsets.set(partitionKey(position), position)
    }
    this.#offsets.set(group, offsets)
  }

  producerEpoch(id: string): number | undefined {
    return this.#producers.get(id)
  }

  saveProducerEpoch(id: string, epoch: number): void {
    this.#producers.set(id, epoch)
  }

  // Members in memory die with the memory: nobody is left to see a session expire.
  saveSession(): void {}

  beat(): boolean {
    return true
  }

  removeSession(): void {}

  #partition(partition: TopicPartition): PartitionLog {
    const log = this.#partitions.get(partitionKey(partition))
    if (log === undefined) throw new Error(`There is no partition ${partitionKey(partition)}.`)
    return log
  }
}

/** One partition's records. Trimmed ones stay in the array until half of it is trimmed, so that trimming is cheap. */
class PartitionLog {
  earliest = 0
  #base = 0
  #records: StoredRecord[] = []

  get latest(): number {
    return this.#base + this.#records.length
  }

  append(records: readonly StoredRecord[]): void {
    for (const record of records) this.#records.push(copied(record))
  }

  read(offset: number, max: number): LogEntry[] {
    const from = Math.max(offset, this.earliest)
    const end = Math.min(from + max, this.latest)
    const entries: LogEntry[] = []
    for (let at = from; at < end; at += 1) {
      // Copied, so that a reader that changes its bytes does not change the log.
      const { timestamp, key, value, headers } = copied(
        this.#records[at - this.#base] as StoredRecord,
      )
      entries.push({ offset: at, timestamp, key, value, headers })
    }
    return entries
  }

  firstAt(timestamp: number): number | undefined {
    for (let at = this.earliest; at < this.latest; at += 1) {
      if ((this.#records[at - this.#base] as StoredRecord).timestamp >= timestamp) return at
    }
    return undefined
  }

  trim(before: number): void {
    this.earliest = Math.min(Math.max(before, this.earliest), this.latest)
    const dead = this.earliest - this.#base
    if (dead * 2 <= this.#records.length) return
    this.#records = this.#records.slice(dead)
    this.#base = this.earliest
  }
}

function copied({ timestamp, key, value, headers }: StoredRecord): StoredRecord {
  return {
    timestamp,
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: headers.length === 0 ? noHeaders : headers.map(copiedHeader),
  }
}

const noHeaders: readonly Header[] = Object.freeze([])

function copiedHeader({ name, value }: Header): Header {
  return { name, value: value === null ? null : Buffer.from(value) }
}
