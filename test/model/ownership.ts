import { at, type Model } from './model.ts'
import { changesValue, inWork, type Member, newView, type Result, type State } from './state.ts'

/**
 * Drops a member's work on these partitions, to take them over again from what the store says. `dropped` is work that
 * is gone already: a unit that was refused.
 */
export function startAnew(
  model: Model,
  { members }: State,
  index: number,
  partitions: readonly number[],
  {
    mustProve,
    dropped = [],
  }: { readonly mustProve: boolean; readonly dropped?: readonly Result[] },
): void {
  const member = at(members, index)
  dropWork(model, member, partitions, dropped)
  for (const partition of partitions) beginView(member, partition, mustProve)
}

/** Drops a member's work on these partitions, and the partitions with it. */
export function letGo(
  model: Model,
  { members }: State,
  index: number,
  partitions: readonly number[],
  dropped: readonly Result[] = [],
): void {
  const member = at(members, index)
  dropWork(model, member, partitions, dropped)
  for (const partition of partitions) endView(member, partition)
}

/**
 * Takes what has finished of these partitions out of the work, and with it all that shares a value with it, as it may be
 * built on it: partitions of such work start anew.
 */
function dropWork(
  model: Model,
  member: Member,
  partitions: readonly number[],
  dropped: readonly Result[],
): void {
  const lost = new Set(partitions)
  const partitionOf = ({ message }: Result): number => model.message(message).partition
  const isLost = (result: Result): boolean => lost.has(partitionOf(result))
  const keysOf = (results: readonly Result[]): Set<number> =>
    new Set(results.filter(changesValue).map(({ message }) => model.keyOf(message)))
  for (let before = 0; before < lost.size; ) {
    before = lost.size
    if (!model.protocol.hasState || !model.protocol.dropsDependents) continue
    const keys = keysOf([...dropped, ...member.finished.filter(isLost)])
    for (const result of member.finished.filter(changesValue))
      if (keys.has(model.keyOf(result.message))) lost.add(partitionOf(result))
  }
  member.finished = member.finished.filter((result) => !isLost(result))
  forgetVersions(model, member)
  for (const partition of lost) beginView(member, partition, false)
}

/** As newly assigned: whatever was sent or is under way belongs to a view that is gone. */
function beginView(member: Member, partition: number, mustProve: boolean): void {
  const view = at(member.views, partition)
  if (view === null) return
  endView(member, partition)
  member.views[partition] = newView(view.generation, mustProve)
}

function endView({ views, sends, unit }: Member, partition: number): void {
  views[partition] = null
  sends[partition] = at(sends, partition).map((send) => ({ ...send, isOrphan: true }))
  if (unit !== null) unit.held = unit.held.filter((held) => held !== partition)
}

/** Forgets the versions of values that no work is built on any more: the next handler reads them again. */
export function forgetVersions(model: Model, member: Member): void {
  const used = new Set(
    inWork(member)
      .filter(changesValue)
      .map(({ message }) => model.keyOf(message)),
  )
  for (const key of member.versions.keys()) if (!used.has(key)) member.versions[key] = null
}
