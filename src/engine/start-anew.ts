import type { GroupMember } from '../ports/broker.ts'
import type { Assignment } from './assignment.ts'
import type { Partition } from './partition.ts'

/**
 * Drops the work of these partitions and takes them over again, from what the store says. When somebody fenced us,
 * only those that the group still counts as ours, which a commit that it accepts proves.
 */
export async function startAnew(
  partitions: readonly Partition[],
  { isFenced, isStopping }: { readonly isFenced: boolean; readonly isStopping: () => boolean },
  assignment: Assignment,
  member: GroupMember,
): Promise<void> {
  const ours = isFenced ? await keepOurs(partitions, assignment, member) : partitions
  if (ours.length === 0) return
  // A poll that is pending would deliver from the new position as soon as the member has moved there, before the
  // partition is there again to take it: those records would be passed over.
  member.pause(ours)
  await assignment.restart(ours, async (positions) => {
    // Meanwhile the member may have left, and nothing is taken any more anyway.
    if (!isStopping()) await member.seek(positions)
  })
  if (!isStopping()) member.resume(ours)
}

/** Those that are ours by the group's word; the others are let go. Asked one by one: one refused says nothing of the rest. */
async function keepOurs(
  partitions: readonly Partition[],
  assignment: Assignment,
  member: GroupMember,
): Promise<readonly Partition[]> {
  const isOurs = await Promise.all(partitions.map((partition) => provesOurs(partition, member)))
  assignment.lost(partitions.filter((_, index) => isOurs[index] === false))
  return partitions.filter((_, index) => isOurs[index])
}

async function provesOurs(owned: Partition, member: GroupMember): Promise<boolean> {
  const { durable } = owned
  try {
    await member.commit([owned.positionAt(durable)])
    owned.committed = durable
    return true
  } catch {
    return false
  }
}
