import type { AssignedPartition, LogRange, Position, TopicPartition } from '../ports/broker.ts'
import {
  call,
  type DriverAdmin,
  type DriverConsumer,
  type DriverOffset,
  type DriverPosition,
} from './driver.ts'
import { kafkaErrors } from './errors.ts'
import { patiently } from './patience.ts'

// Kafka's stand-ins for a time.
const latest = -1
const earliest = -2
const requestLimit = 4_000

/** A moment in a log, as Kafka's ListOffsets takes it. */
async function listOffsets(
  admin: DriverAdmin,
  partitions: readonly TopicPartition[],
  timestamp: number,
  isolationLevel: 0 | 1,
): Promise<readonly DriverOffset[]> {
  if (partitions.length === 0) return []
  const asked = partitions.map(({ topic, partition }) => ({
    topic,
    partition,
    offset: { timestamp },
  }))
  const found = await call<readonly DriverOffset[]>((done) =>
    admin.listOffsets(asked, { timeout: requestLimit, isolationLevel }, done),
  )
  const byName = new Map(found.map((one) => [`${one.topic}/${one.partition}`, one]))
  // The answer's order is the driver's own.
  return partitions.map((one) => {
    const answer = byName.get(`${one.topic}/${one.partition}`)
    if (answer === undefined)
      throw Object.assign(new Error('no answer for a partition'), { code: kafkaErrors.timedOut })
    if (answer.error !== undefined && answer.error.code !== 0) throw answer.error
    return answer
  })
}

/** The ends of logs, each partition in its place. */
export async function logRanges(
  admin: DriverAdmin,
  partitions: readonly TopicPartition[],
): Promise<readonly LogRange[]> {
  const firsts = await listOffsets(admin, partitions, earliest, 0)
  const lasts = await listOffsets(admin, partitions, latest, 0)
  return partitions.map(({ topic, partition }, index) => ({
    topic,
    partition,
    earliest: firsts[index]?.offset ?? 0,
    latest: lasts[index]?.offset ?? 0,
  }))
}

/** The first offsets at or after a time; the log's end where there is none. */
export async function offsetsAtTime(
  admin: DriverAdmin,
  partitions: readonly TopicPartition[],
  timestamp: number,
): Promise<readonly Position[]> {
  const found = await listOffsets(admin, partitions, Math.max(0, timestamp), 0)
  const ends = await listOffsets(admin, partitions, latest, 0)
  return partitions.map(({ topic, partition }, index) => {
    const offset = found[index]?.offset ?? -1
    return { topic, partition, offset: offset >= 0 ? offset : (ends[index]?.offset ?? 0) }
  })
}

/** Where a member starts: at the group's committed positions, else at an end of the log. */
export async function startPositions(
  consumer: DriverConsumer,
  admin: DriverAdmin,
  partitions: readonly TopicPartition[],
  start: 'earliest' | 'latest',
  signal: AbortSignal,
): Promise<readonly AssignedPartition[]> {
  const committed = await patiently(signal, () => committedPositions(consumer, partitions))
  const without = partitions.filter((_, index) => committed[index] === undefined)
  // Isolation level 1: with open transactions, the end is that of what is decided, as for any consumer here.
  const ends = await patiently(signal, () =>
    listOffsets(admin, without, start === 'latest' ? latest : earliest, 1),
  )
  let next = 0
  return partitions.map(({ topic, partition }, index) => {
    const own = committed[index]
    const start = own?.offset ?? ends[next++]?.offset ?? 0
    return { topic, partition, committed: own?.offset, start, ...withMetadata(own?.metadata) }
  })
}

/** A committed position as the driver gives it. */
interface Committed {
  readonly offset: number
  readonly metadata: string | null | undefined
}

/** The group's committed positions, each in its place; undefined where there is none. */
export async function committedPositions(
  consumer: DriverConsumer,
  partitions: readonly TopicPartition[],
): Promise<readonly (Committed | undefined)[]> {
  const found = await call<readonly (DriverPosition | Error)[]>((done) =>
    consumer.committed(partitions, requestLimit, done),
  )
  return found.map((one) => {
    // An error in place of a position has no number: it is one of those that pass, such as a transaction that is open.
    if (one instanceof Error)
      throw Object.assign(new Error(one.message), { code: kafkaErrors.timedOut })
    const { offset = -1, metadata } = one
    return offset >= 0 ? { offset, metadata } : undefined
  })
}

/** The metadata of a position, if it has any. */
export function withMetadata(metadata: string | null | undefined): Pick<Position, 'metadata'> {
  return metadata === undefined || metadata === null || metadata === '' ? {} : { metadata }
}
