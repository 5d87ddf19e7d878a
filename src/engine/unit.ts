import type { OutgoingRecord } from '../ports/broker.ts'
import type { LedgerChange, Mark, StateChange, Unit } from '../ports/store.ts'
import type { Cell, Effects, Partition, Work } from './partition.ts'

/** What one unit does to one partition. */
export interface UnitPart {
  readonly partition: Partition
  readonly works: readonly Work[]
  readonly outputs: readonly OutgoingRecord[]
  readonly lowest: number
  readonly bytes: number
}

/** What was done for a partition by itself, none of its messages. */
export interface OwnWork {
  readonly partition: Partition
  readonly outputs: readonly OutgoingRecord[]
}

/** A unit with what is needed to go on once it is committed. */
export interface BuiltUnit {
  readonly unit: Unit
  readonly parts: readonly UnitPart[]
  /** The cells of `unit.states`, in their order. */
  readonly cells: readonly Cell[]
}

/**
 * The unit that makes the effects of these messages durable. To their partitions they are proposed from now on.
 * @param storesOutputs whether their outputs are published after it, and so are part of it.
 */
export function buildUnit(
  service: string,
  works: readonly Work[],
  storesOutputs: boolean,
): BuiltUnit {
  const marks: Mark[] = []
  // The last change of each key: later ones were built on earlier ones.
  const latest = new Map<Cell, NonNullable<Effects['change']>>()
  const parts = new Map<Partition, MutablePart>()
  for (const work of works) {
    const { partition, offset, effects } = work
    partition.tracker.propose(work.place)
    addTo(parts, work, storesOutputs)
    if (effects?.mark !== undefined && !effects.isApplied)
      marks.push({
        topic: partition.topic,
        id: effects.mark,
        partition: partition.partition,
        offset,
      })
    if (effects?.cell !== undefined && effects.change !== undefined)
      latest.set(effects.cell, effects.change)
  }
  const list = [...parts.values()]
  const ledger = list.filter(({ partition }) => partition.epoch !== undefined).map(ledgerChange)
  const cells = [...latest.keys()]
  const states = [...latest].map(([cell, change]) => stateChange(cell, change))
  return { unit: { service, marks, states, ledger }, parts: list, cells }
}

/** The unit of what was done for a partition: its number goes up, and its position stays. */
export function buildOwnUnit(service: string, { partition, outputs }: OwnWork): BuiltUnit {
  const lowest = partition.tracker.position
  const part = { partition, works: [], outputs, lowest, bytes: bytesOf(outputs) }
  return {
    unit: { service, marks: [], states: [], ledger: [ledgerChange(part)] },
    parts: [part],
    cells: [],
  }
}

interface MutablePart extends UnitPart {
  readonly works: Work[]
  readonly outputs: OutgoingRecord[]
  lowest: number
  bytes: number
}

function addTo(parts: Map<Partition, MutablePart>, work: Work, storesOutputs: boolean): void {
  const { partition, offset, outputs } = work
  let part = parts.get(partition)
  if (part === undefined) {
    part = { partition, works: [], outputs: [], lowest: offset, bytes: 0 }
    parts.set(partition, part)
  }
  part.works.push(work)
  if (!storesOutputs || outputs.length === 0) return
  part.lowest = part.outputs.length === 0 ? offset : Math.min(part.lowest, offset)
  part.outputs.push(...outputs)
  part.bytes += bytesOf(outputs)
}

/** How much memory records take, roughly. */
export function bytesOf(records: readonly OutgoingRecord[]): number {
  let bytes = 0
  for (const { key, value } of records) bytes += 100 + (key?.length ?? 0) + (value?.length ?? 0)
  return bytes
}

function stateChange(
  { key, version }: Cell,
  { value, guard }: NonNullable<Effects['change']>,
): StateChange {
  return { key, value, guard, version }
}

function ledgerChange({ partition: owned, outputs }: UnitPart): LedgerChange {
  const { topic, partition, epoch, unit, tracker, acknowledged } = owned
  return {
    topic,
    partition,
    epoch: epoch ?? 0,
    unit,
    next: tracker.position,
    settled: tracker.settledAbove(),
    outputs,
    acknowledged,
  }
}
