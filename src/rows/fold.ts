import type { Cell } from './cell.ts'

/** A change whose values are ready to be written. */
export interface Change {
  /** Its place in what was given. */
  readonly place: number
  /** The same for changes of one row. */
  readonly row: string
  /** The same for changes of what may be one row to the database. */
  readonly rough: string
  readonly key: readonly Cell[]
  /** By column; undefined: the row is to be deleted. */
  readonly cells: readonly Cell[] | undefined
  readonly versions: readonly Version[]
  readonly position: Position
}

export type Version = number | bigint | undefined

/** Where a record lies. */
export interface Position {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** What is known of a row: by group, the newest version that had an effect, and the record that brought it. */
export type Known = readonly { readonly version: Version; readonly position: Position }[]

/** One statement's worth: a delete, or an insert that becomes an update where there is a row. */
export type Step =
  | { readonly kind: 'delete'; readonly versions: readonly Version[] }
  | {
      readonly kind: 'upsert'
      readonly cells: readonly Cell[]
      readonly versions: readonly Version[]
    }

/** What folding needs to know of the shape. */
export interface FoldRules {
  /** For each group, the indexes of its columns. */
  readonly groups: readonly (readonly number[])[]
  /** Whether rows have their versions in the table, where the database compares: it knows the version of a step alone. */
  readonly isGuardedThere: boolean
  /** Whether it is noted which record brought a version: of equal ones, only a later record of its partition counts then. */
  readonly isNoted: boolean
}

export interface Folded {
  readonly steps: readonly Step[]
  readonly known: Known | undefined
}

/**
 * Makes of one row's changes, in the order of the log, the fewest steps that come to the same as all of them one after the
 * other.
 */
export function fold(
  changes: readonly Change[],
  rules: FoldRules,
  known?: Known | undefined,
): Folded {
  const [only] = changes
  const isAlone = changes.length === 1 && known === undefined && rules.groups.length === 1
  if (isAlone && only?.cells !== undefined) return foldOne(only, only.cells)
  let latest: Known | undefined = known
  const canMix = !rules.isGuardedThere || known !== undefined
  const steps: Step[] = []
  for (const change of changes) {
    const { cells, versions, position } = change
    const isNew = rules.groups.map((_, group) => isNewer(change, latest?.[group], group, rules))
    if (cells === undefined) {
      if (isNew.includes(false)) continue
      steps.splice(0, steps.length, { kind: 'delete', versions })
    } else {
      const accepted = cells.map((cell, column) =>
        isNew[groupOf(rules, column)] === true ? cell : undefined,
      )
      const touched = rules.groups.map(
        (columns, group) => isNew[group] === true && isTouched(columns, accepted, rules),
      )
      if (!touched.includes(true)) continue
      add(
        steps,
        accepted,
        touched.map((is, group) => (is ? versions[group] : undefined)),
        rules,
        canMix,
      )
      latest = rules.groups.map((_, group) => {
        const before = latest?.[group] ?? { version: undefined, position }
        return touched[group] === true ? { version: versions[group], position } : before
      })
      continue
    }
    // A delete without a version is newer than all before it, and not newer than what comes with the version it found.
    latest = rules.groups.map((_, group) => ({
      version: versions[group] ?? latest?.[group]?.version,
      position,
    }))
  }
  return { steps, known: latest }
}

/** As most are: a change of a row that has no other, and of which nothing is known. */
function foldOne({ versions, position }: Change, cells: readonly Cell[]): Folded {
  return {
    steps: [{ kind: 'upsert', cells, versions }],
    known: [{ version: versions[0], position }],
  }
}

function groupOf({ groups }: FoldRules, column: number): number {
  return groups.findIndex((columns) => columns.includes(column))
}

/** The only group is touched by each change, be it by the key alone. */
function isTouched(
  columns: readonly number[],
  cells: readonly Cell[],
  { groups }: FoldRules,
): boolean {
  return groups.length === 1 || columns.some((column) => cells[column] !== undefined)
}

function isNewer(
  { versions, position }: Change,
  known: Known[number] | undefined,
  group: number,
  { isNoted }: FoldRules,
): boolean {
  const version = versions[group]
  if (known === undefined) return true
  if (version === undefined) return !isEarlier(position, known.position)
  if (known.version === undefined) return true
  // A number and a bigint may be the same version, and are never equal.
  if (version < known.version) return false
  if (version > known.version) return true
  return !isNoted || isNoEarlier(position, known.position)
}

/** Of records in two partitions nobody knows which was first. */
function isNoEarlier(position: Position, than: Position): boolean {
  return isSamePartition(position, than) && position.offset >= than.offset
}

function isEarlier(position: Position, than: Position): boolean {
  return isSamePartition(position, than) && position.offset < than.offset
}

function isSamePartition(one: Position, other: Position): boolean {
  return one.topic === other.topic && one.partition === other.partition
}

function add(
  steps: Step[],
  cells: readonly Cell[],
  versions: readonly Version[],
  rules: FoldRules,
  canMix: boolean,
): void {
  const last = steps.at(-1)
  if (last?.kind !== 'upsert' || !(canMix || covers(cells, versions, last.cells, rules))) {
    steps.push({ kind: 'upsert', cells, versions })
    return
  }
  steps[steps.length - 1] = {
    kind: 'upsert',
    cells: last.cells.map((cell, column) => (cells[column] === undefined ? cell : cells[column])),
    versions: last.versions.map((version, group) => versions[group] ?? version),
  }
}

/**
 * Whether nothing of the one before is left in a group that has a new version. Where the database compares, a value may not
 * come under a newer version than its own: in the table there may be one in between.
 */
function covers(
  cells: readonly Cell[],
  versions: readonly Version[],
  before: readonly Cell[],
  { groups }: FoldRules,
): boolean {
  return groups.every(
    (columns, group) =>
      versions[group] === undefined ||
      columns.every((column) => before[column] === undefined || cells[column] !== undefined),
  )
}
