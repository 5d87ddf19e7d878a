import type { PolluxError } from '../errors.ts'
import type { RowChange, RowShape, Rows } from '../ports/target.ts'
import { OpenOnce } from './open-once.ts'
import type { RowDatabase } from './row-database.ts'
import { type LiveTable, RowWriter } from './row-writer.ts'

/** A table that was connected and found to fit. */
export interface ConnectedTable {
  readonly live: LiveTable
  readonly database: RowDatabase
  /** Forgets the notes of rows that were deleted long ago; undefined where nothing is noted. */
  readonly forget: (() => Promise<void>) | undefined
  close(): Promise<void>
}

// Notes are kept for days; a few hours more do not matter.
const forgetsEvery = 3_600_000

/** The rows of one sidecar in a table of a database. */
export class TableRows implements Rows {
  readonly name: string
  readonly #opened: OpenOnce<{ readonly table: ConnectedTable; readonly writer: RowWriter }>
  #forgotAt = Number.NEGATIVE_INFINITY

  /** @param connect rejects, with everything closed again, with what callers of `open` are told */
  constructor(name: string, shape: RowShape, connect: () => Promise<ConnectedTable>) {
    this.name = name
    this.#opened = new OpenOnce(
      name,
      async () => {
        const table = await connect()
        return { table, writer: new RowWriter(shape, table.live, table.database) }
      },
      ({ table }) => table.close(),
    )
  }

  open(): Promise<void> {
    return this.#opened.open()
  }

  close(): Promise<void> {
    return this.#opened.close()
  }

  async write(
    changes: readonly RowChange[],
    signal: AbortSignal,
  ): Promise<readonly (PolluxError | undefined)[]> {
    const { table, writer } = this.#opened.value
    const refusals = await writer.write(changes, signal)
    await this.#forgetNowAndThen(table)
    return refusals
  }

  /** What fails is tried again the next time: the rows are written, and that is what counts. */
  async #forgetNowAndThen({ forget }: ConnectedTable): Promise<void> {
    if (forget === undefined || performance.now() - this.#forgotAt < forgetsEvery) return
    this.#forgotAt = performance.now()
    await forget().catch(() => {})
  }
}
