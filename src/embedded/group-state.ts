import type { TopicPartition } from '../ports/broker.ts'
import { assign } from './assign.ts'
import { partitionKey } from './partition-key.ts'

/** A member as the group knows it. Plain data: the durable log keeps it as JSON. */
export interface MemberState {
  readonly id: string
  /** The connection it lives in; when that dies, the member does. */
  readonly session: string
  readonly clientId: string
  readonly host: string
  readonly topics: readonly string[]
  /** What it may work on now. No two members own the same partition. */
  readonly owned: readonly TopicPartition[]
  /** What it is to own. What it owns beyond that is wanted back. */
  readonly target: readonly TopicPartition[]
}

/**
 * A consumer group between its members. Every step below is made in one transaction of the log, so members of
 * several processes agree without talking to each other:
 *
 * join or leave → new targets → a member whose `owned` is beyond its target drains and releases → whoever has the
 * partition as target takes it. A partition is taken only when nobody owns it.
 */
export interface GroupState {
  /** Counts the changes of the membership. */
  readonly generation: number
  readonly members: readonly MemberState[]
}

/** The number of partitions of a topic. */
export type PartitionCount = (topic: string) => number

export const emptyGroup: GroupState = { generation: 0, members: [] }

/** A group with one more member, and new targets. */
export function addMember(
  group: GroupState,
  member: Omit<MemberState, 'owned' | 'target'>,
  partitionCount: PartitionCount,
): GroupState {
  const added: MemberState = { ...member, owned: [], target: [] }
  return withTargets(
    { generation: group.generation + 1, members: [...group.members, added] },
    partitionCount,
  )
}

/** The group without some members, and new targets; the same object when there was none of them. */
export function removeMembers(
  group: GroupState,
  isGone: (member: MemberState) => boolean,
  partitionCount: PartitionCount,
): GroupState {
  const members = group.members.filter((member) => !isGone(member))
  if (members.length === group.members.length) return group
  return withTargets({ generation: group.generation + 1, members }, partitionCount)
}

/** Gives a member what is its target and nobody's. */
export function takePartitions(
  group: GroupState,
  id: string,
): { readonly group: GroupState; readonly taken: readonly TopicPartition[] } {
  const member = findMember(group, id)
  const owned = new Set(group.members.flatMap((one) => one.owned.map(partitionKey)))
  const taken = (member?.target ?? []).filter((partition) => !owned.has(partitionKey(partition)))
  if (member === undefined || taken.length === 0) return { group, taken: [] }
  return { group: replace(group, { ...member, owned: [...member.owned, ...taken] }), taken }
}

/** Takes partitions from a member; those it does not own are passed over. */
export function releasePartitions(
  group: GroupState,
  id: string,
  partitions: readonly TopicPartition[],
): GroupState {
  const member = findMember(group, id)
  if (member === undefined) return group
  const released = new Set(partitions.map(partitionKey))
  const owned = member.owned.filter((partition) => !released.has(partitionKey(partition)))
  return replace(group, { ...member, owned })
}

export function findMember(group: GroupState, id: string): MemberState | undefined {
  return group.members.find((member) => member.id === id)
}

/** Those of the partitions that the member does not own. */
export function notOwned(
  group: GroupState,
  id: string,
  partitions: readonly TopicPartition[],
): readonly TopicPartition[] {
  const owned = new Set(findMember(group, id)?.owned.map(partitionKey))
  return partitions.filter((partition) => !owned.has(partitionKey(partition)))
}

/** As Kafka names it. */
export function stateName({ members }: GroupState): 'Empty' | 'Stable' | 'PreparingRebalance' {
  if (members.length === 0) return 'Empty'
  const isSettled = members.every(({ owned, target }) => {
    const names = new Set(owned.map(partitionKey))
    return (
      names.size === target.length &&
      target.every((partition) => names.has(partitionKey(partition)))
    )
  })
  return isSettled ? 'Stable' : 'PreparingRebalance'
}

function withTargets(group: GroupState, partitionCount: PartitionCount): GroupState {
  const topics = [...new Set(group.members.flatMap((member) => member.topics))]
  const partitions = topics.flatMap((topic) =>
    Array.from({ length: partitionCount(topic) }, (_, partition) => ({ topic, partition })),
  )
  // Targets, not what is owned now, are the base: a partition on its way to somebody stays on its way.
  const targets = assign(
    group.members.map(({ id, topics: subscribed, target }) => ({
      id,
      topics: subscribed,
      current: target,
    })),
    partitions,
  )
  return {
    ...group,
    members: group.members.map((member) => ({ ...member, target: targets.get(member.id) ?? [] })),
  }
}

function replace(group: GroupState, changed: MemberState): GroupState {
  return {
    ...group,
    members: group.members.map((member) => (member.id === changed.id ? changed : member)),
  }
}
