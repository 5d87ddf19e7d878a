import type { PolluxError } from '../errors.ts'
import type { Resource } from './resource.ts'

/** Where rows are kept that a sidecar feeds: a table of a database, or a cache. */
export interface Target {
  /** What messages call it. Never holds a secret. */
  readonly name: string
  /** Notes what it could never take, whatever the live schema says. */
  check(shape: RowShape, report: (problem: string) => void): void
  /** Rows of this shape in it. Connects to nothing yet. */
  rows(shape: RowShape): Rows
}

/** What rows are made of. */
export interface RowShape {
  /** The sidecar's name. */
  readonly owner: string
  /** The columns that tell rows apart. */
  readonly key: readonly string[]
  /** The other columns that are written, those of versions aside. Nothing else ever is. */
  readonly columns: readonly string[]
  /** Each column is in one of them. There is at least one. */
  readonly groups: readonly ColumnGroup[]
  /** Whether rows may have to be deleted. */
  readonly isDeleting: boolean
  /** What becomes of text that many databases cannot store: NUL characters and halves of surrogate pairs. */
  readonly badText: BadText
}

/** `replace` writes U+FFFD in its place, `refuse` refuses the row. */
export type BadText = 'replace' | 'refuse'

/** Columns that are replaced together, under one version. */
export interface ColumnGroup {
  readonly columns: readonly string[]
  /** Undefined: the later change stands. */
  readonly version: GroupVersion | undefined
}

export interface GroupVersion {
  /** Where it is kept; undefined: beside the table, in one of the target's own. */
  readonly column: string | undefined
}

/** What one message asks for. */
export interface RowChange {
  /** In the order of the shape's key. */
  readonly key: readonly unknown[]
  /**
   * In the order of the shape's columns. Undefined in the place of a value leaves the column as it is; in the place of all
   * of them it deletes the row.
   */
  readonly values: readonly unknown[] | undefined
  /** One for each group that has a version. Undefined, of a delete only: it counts as newer than what came before. */
  readonly versions: readonly (number | bigint | undefined)[]
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

/** The open table. Calls may run at once. */
export interface Rows extends Resource {
  /**
   * Applies the changes, which are in the order of the log, all in one transaction where there are any. Resolves to what
   * was wrong with each: undefined for one that is applied, or that came too late and has no effect.
   *
   * Rejects with POLLUX_TARGET_UNREACHABLE for what waiting can fix: then it is not known which are applied, and all are
   * to be given again; and with POLLUX_TARGET_FAILED for what it cannot. With the signal aborted, nothing is committed
   * any more.
   */
  write(
    changes: readonly RowChange[],
    signal: AbortSignal,
  ): Promise<readonly (PolluxError | undefined)[]>
}
