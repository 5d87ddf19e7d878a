import type { PolluxError } from '../errors.ts'
import type { Cell } from './cell.ts'
import type { Known, Version } from './fold.ts'

/** A row's key, and what goes with it. */
export interface Keyed {
  readonly key: readonly Cell[]
  readonly versions: readonly Version[]
}

export interface Upsert extends Keyed {
  /** By column; those that are undefined are the same in all rows of a call. */
  readonly cells: readonly Cell[]
}

/** What is noted of a row beside the table. */
export interface Noted {
  /** What tells the row from others. */
  readonly row: string
  readonly known: Known
  readonly isDeleted: boolean
}

/** What a database does for rows, in one transaction. Each row is there once at most in a call. */
export interface RowTransaction {
  /**
   * What is noted of these rows, by their name, which nobody else changes until the end of the transaction. Undefined
   * where nothing is noted: versions are in the table, or there are none.
   */
  readonly known?: (rows: readonly string[]) => Promise<ReadonlyMap<string, Known>>
  readonly note?: (rows: readonly Noted[]) => Promise<void>
  delete(rows: readonly Keyed[]): Promise<void>
  upsert(rows: readonly Upsert[]): Promise<void>
  /** What `body` did is taken back when it rejects, what was done before stays; the rejection is passed on. */
  attempt(body: () => Promise<void>): Promise<void>
  commit(): Promise<void>
  /** Never rejects. Does nothing after a commit. */
  rollback(): Promise<void>
}

/** A database as rows are written to it. Errors are the driver's own. */
export interface RowDatabase {
  /** Whether transactions have `known` and `note`. */
  readonly isNoting: boolean
  begin(): Promise<RowTransaction>
  /** Why a row was refused; undefined when it is not the row's fault. */
  refusal(error: unknown): PolluxError | undefined
  /** Any other error: POLLUX_TARGET_UNREACHABLE, POLLUX_TARGET_FAILED. */
  trouble(error: unknown): PolluxError
}
