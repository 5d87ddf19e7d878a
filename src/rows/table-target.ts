import { errorText, PolluxError } from '../errors.ts'
import type { RowShape, Target } from '../ports/target.ts'
import { needsNotes, wantsNotes } from './live-check.ts'
import type { TableName } from './table-name.ts'
import { type ConnectedTable, TableRows } from './table-rows.ts'

/** Where versions are noted beside the table. */
export interface NotesPlace {
  readonly table: TableName
  /** Whose notes: the sidecar and its table. */
  readonly owner: string
  /** Milliseconds that those of deleted rows are kept. */
  readonly retention: number
}

export interface TableTargetParts {
  /** Never holds a secret. */
  readonly name: string
  readonly table: TableName
  /** Undefined: versions are noted nowhere. */
  readonly versions: TableName | undefined
  /** Milliseconds. */
  readonly keepDeleted: number
  /** @param notes where this shape wants any */
  connect(shape: RowShape, notes: NotesPlace | undefined): Promise<ConnectedTable>
}

/** A table of a database as the target of a sidecar. */
export function tableTarget(parts: TableTargetParts): Target {
  const { name, table, versions, keepDeleted } = parts
  return {
    name,
    check(shape, report) {
      if (versions === undefined && needsNotes(shape))
        report('version.column: expected a column, since the target notes no versions')
    },
    rows(shape) {
      const owner = `${shape.owner} ${table}`
      const notes =
        versions === undefined || !wantsNotes(shape)
          ? undefined
          : { table: versions, owner, retention: keepDeleted }
      return new TableRows(name, shape, () => parts.connect(shape, notes))
    },
  }
}

/** The error where the table of notes is missing and may not be made. */
export function notesMissing(
  { table }: NotesPlace,
  statement: string,
  cause: unknown,
): PolluxError {
  return new PolluxError(
    'POLLUX_TARGET_MISMATCH',
    `The table ${table} for versions cannot be made.`,
    { found: errorText(cause), hint: `Make it by hand:\n${statement}` },
  )
}
