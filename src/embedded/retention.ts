import type { LogRange } from '../ports/broker.ts'
import type { LogStorage, LogWrites, StoredTopic } from './log-storage.ts'

/** What decides where a partition's log is to begin. */
export interface RetentionCase {
  readonly range: Pick<LogRange, 'earliest' | 'latest'>
  readonly retentionRecords: number | undefined
  /** The first offset that is young enough; undefined when none is, or when age does not count. */
  readonly firstYoung: number | undefined
  readonly hasAgeLimit: boolean
}

/** The first offset to keep. Only the log's beginning goes: a younger record keeps all that come after it. */
export function firstKept({
  range,
  retentionRecords,
  firstYoung,
  hasAgeLimit,
}: RetentionCase): number {
  const byCount = retentionRecords === undefined ? range.earliest : range.latest - retentionRecords
  const byAge = hasAgeLimit ? (firstYoung ?? range.latest) : range.earliest
  return Math.max(range.earliest, byCount, byAge)
}

/** Removes what a topic's settings do not keep, inside a transaction. */
export function trimPartition(
  log: LogWrites,
  topic: StoredTopic,
  partition: number,
  now: number,
): void {
  const { name, retentionMs, retentionRecords } = topic
  if (!hasRetention(topic)) return
  const place = { topic: name, partition }
  const range = log.range(place)
  const hasAgeLimit = retentionMs !== undefined
  const firstYoung = hasAgeLimit ? log.firstAt(place, now - retentionMs) : undefined
  const before = firstKept({ range, retentionRecords, firstYoung, hasAgeLimit })
  if (before > range.earliest) log.trim(place, before)
}

/** Trims all partitions of these topics. Appending trims too; this is for those that nobody writes to. */
export async function trimTopics(
  log: LogStorage,
  topics: readonly StoredTopic[],
  now: number,
): Promise<void> {
  const limited = topics.filter(hasRetention)
  if (limited.length === 0) return
  await log.write((tables) => {
    for (const topic of limited) {
      for (let partition = 0; partition < topic.partitions; partition += 1) {
        trimPartition(tables, topic, partition, now)
      }
    }
  })
}

function hasRetention({ retentionMs, retentionRecords }: StoredTopic): boolean {
  return retentionMs !== undefined || retentionRecords !== undefined
}
