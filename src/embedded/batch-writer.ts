import { PolluxError, shown } from '../errors.ts'
import type { OutgoingRecord, Refusal } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { LogWrites, StoredRecord, StoredTopic } from './log-storage.ts'
import { partitionForKey } from './partitioner.ts'
import { unknownTopics } from './refusals.ts'
import { trimPartition } from './retention.ts'
import { StickyPartitions } from './sticky-partitions.ts'

interface Accepted {
  readonly index: number
  readonly topic: string
  readonly partition: number | undefined
  readonly record: StoredRecord
}

/** Records as they were when they were given, and why some are refused whatever the log holds. */
export interface Batch {
  readonly accepted: readonly Accepted[]
  readonly refusals: readonly Refusal[]
  readonly now: number
}

/** A batch with its places in the log. */
export interface PlacedBatch {
  readonly groups: readonly PartitionRecords[]
  /** All of them, by index. */
  readonly refusals: readonly Refusal[]
  readonly now: number
}

interface PartitionRecords {
  readonly topic: StoredTopic
  readonly partition: number
  readonly records: StoredRecord[]
}

/** Checks records, chooses their partitions and appends them; what the producers have in common. */
export class BatchWriter {
  readonly #clock: Clock
  readonly #maxRecordBytes: number
  readonly #sticky: StickyPartitions

  constructor(clock: Clock, maxRecordBytes: number) {
    this.#clock = clock
    this.#maxRecordBytes = maxRecordBytes
    this.#sticky = new StickyPartitions(() => clock.random())
  }

  /** Why a record would be refused; undefined when nothing that is known without the log speaks against it. */
  check(record: OutgoingRecord): Error | undefined {
    const bytes = size(record)
    if (bytes > this.#maxRecordBytes) {
      return new PolluxError(
        'POLLUX_RECORD_TOO_LARGE',
        `A record for topic ${shown(record.topic)} is too large.`,
        {
          expected: `at most ${this.#maxRecordBytes} bytes of key, value and headers`,
          found: `${bytes} bytes`,
        },
      )
    }
    const { timestamp, partition } = record
    if (timestamp !== undefined && (!Number.isSafeInteger(timestamp) || timestamp < 0)) {
      return refused(record, 'a timestamp in whole milliseconds since 1970', shown(timestamp))
    }
    if (partition !== undefined && (!Number.isInteger(partition) || partition < 0)) {
      return refused(record, 'a partition number from 0', shown(partition))
    }
    return undefined
  }

  prepare(records: readonly OutgoingRecord[]): Batch {
    const refusals: Refusal[] = []
    const accepted: Accepted[] = []
    const now = this.#clock.now()
    for (const [index, record] of records.entries()) {
      const error = this.check(record)
      if (error === undefined) accepted.push({ index, ...prepared(record, now) })
      else refusals.push({ index, error })
    }
    return { accepted, refusals, now }
  }

  /** Chooses partitions, inside a transaction. Changes nothing. */
  place(log: LogWrites, { accepted, refusals: earlier, now }: Batch): PlacedBatch {
    const refusals = [...earlier]
    const groups = new Map<string, PartitionRecords>()
    this.#sticky.startBatch()
    for (const one of accepted) {
      const topic = log.topic(one.topic)
      const partition = topic === undefined ? undefined : this.#choose(one, topic)
      if (topic === undefined || partition === undefined) {
        refusals.push({
          index: one.index,
          error: topic === undefined ? unknownTopics([one.topic]) : noPartition(one, topic),
        })
        continue
      }
      const name = `${topic.name}/${partition}`
      const group = groups.get(name)
      if (group === undefined) groups.set(name, { topic, partition, records: [one.record] })
      else group.records.push(one.record)
    }
    return {
      groups: [...groups.values()],
      refusals: refusals.toSorted((one, other) => one.index - other.index),
      now,
    }
  }

  append(log: LogWrites, { groups, now }: PlacedBatch): void {
    for (const { topic, partition, records } of groups) {
      log.append({ topic: topic.name, partition }, records)
      trimPartition(log, topic, partition, now)
    }
  }

  /** Undefined for a partition that the topic does not have. */
  #choose({ partition, record }: Accepted, topic: StoredTopic): number | undefined {
    if (partition !== undefined) return partition < topic.partitions ? partition : undefined
    if (record.key !== null) return partitionForKey(record.key, topic.partitions)
    return this.#sticky.next(topic.name, topic.partitions, record.value?.length ?? 0)
  }
}

/** A record as it is now: the caller may set another time or list of headers before it is written. */
function prepared(record: OutgoingRecord, now: number): Omit<Accepted, 'index'> {
  const { topic, partition, key, value, headers, timestamp = now } = record
  return { topic, partition, record: { timestamp, key, value, headers } }
}

function size({ key, value, headers }: OutgoingRecord): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0)
  for (const header of headers)
    bytes += Buffer.byteLength(header.name) + (header.value?.length ?? 0)
  return bytes
}

function noPartition({ partition }: Accepted, { name, partitions }: StoredTopic): PolluxError {
  return new PolluxError(
    'POLLUX_OUTPUT_REFUSED',
    `Topic ${shown(name)} does not have this partition.`,
    {
      expected: `a partition from 0 to ${partitions - 1}`,
      found: shown(partition),
    },
  )
}

function refused({ topic }: OutgoingRecord, expected: string, found: string): PolluxError {
  return new PolluxError(
    'POLLUX_OUTPUT_REFUSED',
    `A record for topic ${shown(topic)} cannot be written.`,
    {
      expected,
      found,
    },
  )
}
