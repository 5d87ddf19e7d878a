import type { TopicPartition } from '../ports/broker.ts'
import { comparePartitions, partitionKey } from './partition-key.ts'

/** A member as the assignment sees it. */
export interface Subscriber {
  readonly id: string
  readonly topics: readonly string[]
  /** What it has, or is about to get. */
  readonly current: readonly TopicPartition[]
}

interface Load {
  readonly id: string
  readonly topics: ReadonlySet<string>
  readonly parts: Map<string, TopicPartition>
  /** Partitions a topic. */
  readonly counts: Map<string, number>
  /** What it had before. */
  readonly had: ReadonlySet<string>
}

/**
 * Shares partitions among the members of a group. Each partition has one owner if anybody subscribes to its topic;
 * the numbers of partitions are as even as the subscriptions allow; and members keep what they have: with equal
 * subscriptions no assignment as even moves fewer partitions. The same input gives the same answer in every process.
 */
export function assign(
  members: readonly Subscriber[],
  partitions: readonly TopicPartition[],
): Map<string, readonly TopicPartition[]> {
  const loads = members
    .map((member) => toLoad(member))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const free = keepCurrent(loads, members, partitions)
  for (const partition of free) {
    const eligible = loads.filter(({ topics }) => topics.has(partition.topic))
    const [least] = eligible.toSorted(
      (one, other) =>
        one.parts.size - other.parts.size ||
        count(one, partition.topic) - count(other, partition.topic),
    )
    if (least !== undefined) give(least, partition)
  }
  while (evenOut(loads));
  return new Map(
    loads.map(({ id, parts }) => [id, [...parts.values()].toSorted(comparePartitions)]),
  )
}

function toLoad({ id, topics, current }: Subscriber): Load {
  return {
    id,
    topics: new Set(topics),
    parts: new Map(),
    counts: new Map(),
    had: new Set(current.map(partitionKey)),
  }
}

/** Leaves members what they have, and returns the partitions that nobody has, the hardest to place first. */
function keepCurrent(
  loads: readonly Load[],
  members: readonly Subscriber[],
  partitions: readonly TopicPartition[],
): readonly TopicPartition[] {
  const free = new Map(partitions.map((partition) => [partitionKey(partition), partition]))
  const current = new Map(members.map((member) => [member.id, member.current]))
  for (const load of loads) {
    for (const partition of current.get(load.id) ?? []) {
      if (load.topics.has(partition.topic) && free.delete(partitionKey(partition)))
        give(load, partition)
    }
  }
  const takers = (topic: string): number => loads.filter(({ topics }) => topics.has(topic)).length
  return [...free.values()].toSorted(
    (one, other) => takers(one.topic) - takers(other.topic) || comparePartitions(one, other),
  )
}

/**
 * Moves one partition's worth of load from a member to one that has at least two fewer, through others where the
 * subscriptions want it. When no such path is left, the numbers are as even as they can be.
 */
function evenOut(loads: readonly Load[]): boolean {
  for (const from of loads.toSorted((one, other) => other.parts.size - one.parts.size)) {
    const path = shortestPath(from, loads)
    if (path === undefined) continue
    for (let index = path.length - 1; index > 0; index -= 1) {
      const [giver, taker] = [path[index - 1] as Load, path[index] as Load]
      move(giver, taker)
    }
    return true
  }
  return false
}

function shortestPath(from: Load, loads: readonly Load[]): readonly Load[] | undefined {
  const cameFrom = new Map<Load, Load | undefined>([[from, undefined]])
  const smallestFirst = loads.toSorted((one, other) => one.parts.size - other.parts.size)
  for (const load of cameFrom.keys()) {
    for (const next of smallestFirst) {
      if (cameFrom.has(next) || !canGive(load, next)) continue
      cameFrom.set(next, load)
      if (next.parts.size <= from.parts.size - 2) return pathTo(next, cameFrom)
    }
  }
  return undefined
}

function pathTo(end: Load, cameFrom: ReadonlyMap<Load, Load | undefined>): readonly Load[] {
  const path: Load[] = []
  for (let at: Load | undefined = end; at !== undefined; at = cameFrom.get(at)) path.unshift(at)
  return path
}

function canGive(giver: Load, taker: Load): boolean {
  return [...giver.counts].some(([topic, number]) => number > 0 && taker.topics.has(topic))
}

/** Moves what the giver did not have before, else what spreads the topics best. */
function move(giver: Load, taker: Load): void {
  const rank = (partition: TopicPartition): number =>
    (giver.had.has(partitionKey(partition)) ? 0 : 1e9) +
    count(giver, partition.topic) -
    count(taker, partition.topic)
  let best: TopicPartition | undefined
  let bestRank = Number.NEGATIVE_INFINITY
  for (const partition of giver.parts.values()) {
    if (!taker.topics.has(partition.topic)) continue
    const own = rank(partition)
    if (best !== undefined && own < bestRank) continue
    // Of equals the last by name goes, so that the answer does not hang on any order.
    if (best !== undefined && own === bestRank && comparePartitions(partition, best) < 0) continue
    best = partition
    bestRank = own
  }
  if (best === undefined) return
  giver.parts.delete(partitionKey(best))
  giver.counts.set(best.topic, count(giver, best.topic) - 1)
  give(taker, best)
}

function give(load: Load, partition: TopicPartition): void {
  load.parts.set(partitionKey(partition), {
    topic: partition.topic,
    partition: partition.partition,
  })
  load.counts.set(partition.topic, count(load, partition.topic) + 1)
}

function count(load: Load, topic: string): number {
  return load.counts.get(topic) ?? 0
}
