import { PolluxError } from '../../errors.ts'
import type { BrokerAdmin, GroupDescription, LogRange } from '../../ports/broker.ts'

/** How far a group is on one partition. Null is "not known", never a number that looks like one. */
export interface PartitionProgress {
  readonly topic: string
  readonly partition: number
  /** The committed offset; null when the group has never committed on this partition. */
  readonly offset: number | null
  /** The end of the log; null when the topic is gone. */
  readonly end: number | null
  /** Records from the committed offset to the end that are still kept; never negative. */
  readonly lag: number | null
  /** The id of the member that has the partition; null when nobody has. */
  readonly member: string | null
}

export interface GroupReport {
  readonly group: string
  readonly state: string
  readonly members: readonly {
    readonly id: string
    readonly clientId: string
    readonly host: string
    readonly partitions: number
  }[]
  readonly partitions: readonly PartitionProgress[]
  /** The sum of all lags that are known. */
  readonly lag: number
  /** How many partitions have no committed offset, and so no lag. */
  readonly withoutOffset: number
}

/** Reads what is known of a group. */
export async function readGroupReport(admin: BrokerAdmin, name: string): Promise<GroupReport> {
  const group = await admin.group(name)
  const owned = group.members.flatMap((member) => member.partitions)
  const topics = [...new Set([...group.offsets, ...owned].map(({ topic }) => topic))].toSorted()
  const ranges = await Promise.all(topics.map((topic) => rangesOf(admin, topic)))
  return reportOf(group, ranges.flat())
}

/** One topic at a time, since one that was deleted must not hide the others. */
async function rangesOf(admin: BrokerAdmin, topic: string): Promise<readonly LogRange[]> {
  try {
    return await admin.ranges([topic])
  } catch (error) {
    if (PolluxError.is(error, 'POLLUX_TOPIC_UNKNOWN')) return []
    throw error
  }
}

/** Puts together what the group says and what the logs say. */
export function reportOf(group: GroupDescription, ranges: readonly LogRange[]): GroupReport {
  const places = new Map<string, { readonly topic: string; readonly partition: number }>()
  const owned = group.members.flatMap((member) => member.partitions)
  for (const { topic, partition } of [...ranges, ...group.offsets, ...owned]) {
    places.set(`${topic}/${partition}`, { topic, partition })
  }
  const partitions = [...places.values()]
    .toSorted((one, other) =>
      one.topic === other.topic
        ? one.partition - other.partition
        : one.topic < other.topic
          ? -1
          : 1,
    )
    .map(({ topic, partition }) => progressOf(group, ranges, topic, partition))
  return {
    group: group.group,
    state: group.state,
    members: group.members.map(({ id, clientId, host, partitions: held }) => ({
      id,
      clientId,
      host,
      partitions: held.length,
    })),
    partitions,
    lag: partitions.reduce((sum, { lag }) => sum + (lag ?? 0), 0),
    withoutOffset: partitions.filter(({ offset }) => offset === null).length,
  }
}

function progressOf(
  group: GroupDescription,
  ranges: readonly LogRange[],
  topic: string,
  partition: number,
): PartitionProgress {
  const isHere = (place: { readonly topic: string; readonly partition: number }): boolean =>
    place.topic === topic && place.partition === partition
  const offset = group.offsets.find(isHere)?.offset ?? null
  const range = ranges.find(isHere)
  const member = group.members.find(({ partitions }) => partitions.some(isHere))?.id ?? null
  // Below the log's start, what was deleted in between is not to be worked on any more; above its end, nothing is.
  const lag =
    offset === null || range === undefined
      ? null
      : Math.max(0, range.latest - Math.max(offset, range.earliest))
  return { topic, partition, offset, end: range?.latest ?? null, lag, member }
}
