import { PolluxError } from '../errors.ts'
import { nearName } from '../near-name.ts'
import type { RowShape } from '../ports/target.ts'

/** A column as it was found, whatever the database. */
export interface FoundColumn {
  readonly isGenerated: boolean
  readonly canRead: boolean
  readonly canWrite: boolean
  /** Of a time: digits of its seconds. */
  readonly timePrecision: number | undefined
}

/** What was found of a table. */
export interface FoundTable {
  readonly name: string
  readonly columns: ReadonlyMap<string, FoundColumn>
  /** The columns of each unique index that counts. */
  readonly unique: readonly (readonly string[])[]
  readonly canDelete: boolean
  /** What else is wrong. */
  readonly problems: readonly string[]
}

/** The error of a table that does not fit. */
export function mismatch(table: string, owner: string, problems: readonly string[]): PolluxError {
  const list = problems.map((problem) => `\n  - ${problem}`).join('')
  return new PolluxError(
    'POLLUX_TARGET_MISMATCH',
    `The table ${table} does not fit the sidecar '${owner}':${list}`,
  )
}

/** @throws POLLUX_TARGET_MISMATCH with all in which the table is not what the shape asks for. */
export function checkLive(table: FoundTable, shape: RowShape): void {
  const { owner, key, columns, isDeleting } = shape
  const problems = [...table.problems]
  const versions = versionColumns(shape)
  for (const name of new Set([...key, ...columns, ...versions]))
    problems.push(...problemsOf(name, table, key.includes(name)))
  for (const name of versions)
    if ((table.columns.get(name)?.timePrecision ?? 3) < 3)
      problems.push(`${name}: expected a time with milliseconds, as versions are compared by it`)
  if (!table.unique.some((names) => isSame(names, key))) {
    const found = table.unique.map((names) => `(${names.join(', ')})`).join(', ')
    problems.push(
      `key: expected a unique index on exactly (${key.join(', ')}), neither partial nor deferrable, found ${found || 'none at all'}`,
    )
  }
  if (isDeleting && !table.canDelete)
    problems.push('expected the right to delete rows, which tombstones ask for, found none')
  if (problems.length > 0) throw mismatch(table.name, owner, problems)
}

/** Those that groups have. */
function versionColumns({ groups }: RowShape): readonly string[] {
  return groups.flatMap(({ version }) => version?.column ?? [])
}

function problemsOf(name: string, { columns }: FoundTable, isKey: boolean): readonly string[] {
  const column = columns.get(name)
  if (column === undefined) {
    const near = nearName(name, [...columns.keys()])
    const question = near === undefined ? '' : `; did you mean ${near}?`
    return [`${name}: expected a column of this name, found none${question}`]
  }
  if (column.isGenerated)
    return [`${name}: expected a column that can be written, found a generated one`]
  return column.canWrite && (column.canRead || !isKey)
    ? []
    : [`${name}: expected the rights to select, insert and update, found not all of them`]
}

function isSame(names: readonly string[], key: readonly string[]): boolean {
  return names.length === key.length && key.every((name) => names.includes(name))
}

/** Some version has no column of its own, so it has to be noted beside the table. */
export function needsNotes({ groups }: RowShape): boolean {
  return groups.some(({ version }) => version !== undefined && version.column === undefined)
}

/** Notes are of use, too, where rows are deleted: then no column keeps older messages from bringing them back. */
export function wantsNotes(shape: RowShape): boolean {
  const isVersioned = shape.groups.some(({ version }) => version !== undefined)
  return needsNotes(shape) || (isVersioned && shape.isDeleting)
}

/** The group that each column belongs to, by their indexes. */
export function groupsOfColumns({ columns, groups }: RowShape): readonly number[] {
  return columns.map((name) => groups.findIndex((group) => group.columns.includes(name)))
}
