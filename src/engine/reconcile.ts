import type { Loaded, Mark, StateRow } from '../ports/store.ts'
import type { Cell, Work } from './partition.ts'
import type { BuiltUnit } from './unit.ts'

/** What to ask the store for, to find out why it has refused a unit. */
export function doubtsOf({ parts, cells }: BuiltUnit): {
  readonly keys: readonly Buffer[]
  readonly marks: readonly Pick<Mark, 'topic' | 'id'>[]
} {
  return {
    keys: cells.map(({ key }) => key),
    marks: markedOf(parts).map(({ partition, effects }) => {
      return { topic: partition.topic, id: effects?.mark ?? none }
    }),
  }
}

/**
 * Brings cells and messages up to what the store has in the place of what a refused unit was built on. Messages whose event
 * was applied meanwhile have no effect any more; a cell that somebody else has changed gets a new edition, so
 * that all that was made of the old one is done again. False when nothing explains the refusal.
 */
export function reconcile({ parts, cells }: BuiltUnit, { states, applied }: Loaded): boolean {
  const duplicates = markedOf(parts).filter((_, index) => applied[index] === true)
  for (const work of duplicates) becomesDuplicate(work)
  const touched = new Set(duplicates.map(({ effects }) => effects?.cell))
  let isExplained = duplicates.length > 0
  cells.forEach((cell, index) => {
    const row = states[index]
    if (row === undefined || (row.version === cell.version && !touched.has(cell))) return
    restore(cell, row)
    isExplained = true
  })
  return isExplained
}

/** Brings a cell up to what the store has; all that was made of the old one is outdated. */
export function restore(cell: Cell, row: StateRow | undefined): void {
  cell.value = row?.value ?? null
  cell.guard = row?.guard ?? null
  cell.version = row?.version ?? 0
  cell.edition += 1
}

const none = Buffer.alloc(0)

function markedOf(parts: BuiltUnit['parts']): readonly Work[] {
  return parts
    .flatMap(({ works }) => works)
    .filter(({ effects }) => effects?.claim !== undefined && !effects.isApplied)
}

function becomesDuplicate(work: Work): void {
  work.outputs = []
  if (work.effects === undefined) return
  work.effects.isApplied = true
  work.effects.change = undefined
}
