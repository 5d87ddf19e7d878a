import { PolluxError } from '../errors.ts'
import type { RowChange, RowShape } from '../ports/target.ts'
import { type Cell, type Column, keyText, roughKeyText, toCell } from './cell.ts'
import { type Change, type Folded, type FoldRules, fold, type Known } from './fold.ts'
import { refused } from './refused.ts'
import type { Keyed, RowDatabase, RowTransaction, Upsert } from './row-database.ts'

/** The live table, as far as it is written. */
export interface LiveTable {
  readonly key: readonly Column[]
  readonly columns: readonly Column[]
}

type Refusals = (PolluxError | undefined)[]
type KnownRows = Map<string, Known>

/** A row with the changes that are folded into its steps. */
interface Folding extends Folded {
  readonly row: string
  readonly changes: readonly Change[]
}

/** Writes changes as few rows, in the order of their keys, and finds out which row is at fault. */
export class RowWriter {
  readonly #shape: RowShape
  readonly #table: LiveTable
  readonly #database: RowDatabase
  readonly #rules: FoldRules
  /** Keys that differ may yet be the same to the database. */
  readonly #isRough: boolean

  constructor(shape: RowShape, table: LiveTable, database: RowDatabase) {
    this.#shape = shape
    this.#table = table
    this.#database = database
    this.#isRough = table.key.some(({ sameAs }) => sameAs !== undefined)
    this.#rules = {
      groups: shape.groups.map(({ columns }) =>
        columns.map((column) => shape.columns.indexOf(column)),
      ),
      isGuardedThere: shape.groups.some(({ version }) => version?.column !== undefined),
      isNoted: database.isNoting,
    }
  }

  /** As `Rows.write` has it. */
  async write(given: readonly RowChange[], signal: AbortSignal): Promise<Refusals> {
    const refusals: Refusals = new Array<PolluxError | undefined>(given.length).fill(undefined)
    const changes: Change[] = []
    for (const [place, change] of given.entries()) {
      const readied = this.#readied(change, place, refusals)
      if (readied !== undefined) changes.push(readied)
    }
    const runs = inRuns(changes)
    if (changes.length === 0) return refusals
    try {
      if (!(await this.#writeWhole(runs, signal))) await this.#writeParts(runs, refusals, signal)
      return refusals
    } catch (error) {
      if (signal.aborted) throw error
      throw this.#database.trouble(error)
    }
  }

  #readied(change: RowChange, place: number, refusals: Refusals): Change | undefined {
    const { badText } = this.#shape
    const { key: keyColumns, columns } = this.#table
    const { values, versions, topic, partition, offset } = change
    try {
      const key = change.key.map((value, index) =>
        keyCell(value, keyColumns[index] as Column, badText),
      )
      const cells = values?.map((value, index) => toCell(value, columns[index] as Column, badText))
      const position = { topic, partition, offset }
      const row = keyText(key, keyColumns)
      const rough = this.#isRough ? roughKeyText(key, keyColumns) : row
      return { place, row, rough, key, cells, versions, position }
    } catch (error) {
      if (!PolluxError.is(error)) throw error
      refusals[place] = error
      return undefined
    }
  }

  /** False when the database has refused a row, whichever. */
  async #writeWhole(runs: readonly (readonly Change[])[], signal: AbortSignal): Promise<boolean> {
    try {
      await this.#inTransaction(signal, async (transaction) => {
        const known = await knownRows(transaction, runs)
        for (const run of runs) {
          const rows = this.#folded(run, known)
          await this.#apply(transaction, rows)
          if (runs.length > 1) remember(rows, known)
        }
      })
      return true
    } catch (error) {
      if (this.#database.refusal(error) === undefined) throw error
      return false
    }
  }

  async #writeParts(
    runs: readonly (readonly Change[])[],
    refusals: Refusals,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#inTransaction(signal, async (transaction) => {
      const known = await knownRows(transaction, runs)
      let left = runs
      for (let before = Number.POSITIVE_INFINITY; left.length > 0 && left.length < before; ) {
        for (const run of left) await this.#writePart(transaction, run, known, refusals)
        before = left === runs ? Number.POSITIVE_INFINITY : left.length
        left = refusedLast(runs.flat(), refusals).map((change) => [change])
      }
    })
  }

  /** All of it; or its halves, until the rows at fault stand alone; of such a row, one change after the other. */
  async #writePart(
    transaction: RowTransaction,
    changes: readonly Change[],
    known: KnownRows,
    refusals: Refusals,
  ): Promise<void> {
    const rows = this.#folded(changes, known)
    try {
      await transaction.attempt(() => this.#apply(transaction, rows))
      for (const { place } of changes) refusals[place] = undefined
      return remember(rows, known)
    } catch (error) {
      const refusal = this.#database.refusal(error)
      if (refusal === undefined) throw error
      const [first] = changes
      if (first !== undefined && changes.length === 1) {
        refusals[first.place] = refusal
        return
      }
    }
    const parts =
      rows.length === 1
        ? changes.map((change) => [change])
        : halves(rows).map((half) => half.flatMap((row) => row.changes))
    for (const part of parts) await this.#writePart(transaction, part, known, refusals)
  }

  /** In the order of their keys, so that two writers wait for each other instead of being in a deadlock. */
  #folded(changes: readonly Change[], known: ReadonlyMap<string, Known>): readonly Folding[] {
    const byRow = new Map<string, Change[]>()
    for (const change of changes) {
      const own = byRow.get(change.row)
      if (own === undefined) byRow.set(change.row, [change])
      else own.push(change)
    }
    const rows: Folding[] = []
    for (const [row, own] of byRow) {
      const { steps, known: latest } = fold(own, this.#rules, known.get(row))
      rows.push({ row, changes: own, steps, known: latest })
    }
    return rows.sort((one, other) => (one.row < other.row ? -1 : 1))
  }

  async #apply(transaction: RowTransaction, rows: readonly Folding[]): Promise<void> {
    let most = 0
    for (const { steps } of rows) most = Math.max(most, steps.length)
    for (let turn = 0; turn < most; turn += 1) await this.#takeTurn(transaction, rows, turn)
    if (transaction.note === undefined) return
    const noted = rows.flatMap(({ row, steps, known: latest }) =>
      latest === undefined || steps.length === 0
        ? []
        : [{ row, known: latest, isDeleted: steps.at(-1)?.kind === 'delete' }],
    )
    if (noted.length > 0) await transaction.note(noted)
  }

  /** One step of each row that has so many. */
  async #takeTurn(
    transaction: RowTransaction,
    rows: readonly Folding[],
    turn: number,
  ): Promise<void> {
    const deletes: Keyed[] = []
    // Rows that leave other columns alone are another statement.
    const upserts = new Map<string, Upsert[]>()
    for (const { changes, steps } of rows) {
      const [step, key] = [steps[turn], changes[0]?.key]
      if (step === undefined || key === undefined) continue
      if (step.kind === 'delete') {
        deletes.push({ key, versions: step.versions })
        continue
      }
      const upsert = { key, cells: step.cells, versions: step.versions }
      const columns = columnsOf(upsert)
      const alike = upserts.get(columns)
      if (alike === undefined) upserts.set(columns, [upsert])
      else alike.push(upsert)
    }
    if (deletes.length > 0) await transaction.delete(deletes)
    for (const alike of upserts.values()) await transaction.upsert(alike)
  }

  async #inTransaction(
    signal: AbortSignal,
    body: (transaction: RowTransaction) => Promise<void>,
  ): Promise<void> {
    const transaction = await this.#database.begin()
    try {
      await body(transaction)
      // From here on somebody else may be writing these rows, and what they wrote is newer.
      signal.throwIfAborted()
      await transaction.commit()
    } finally {
      await transaction.rollback()
    }
  }
}

function keyCell(value: unknown, column: Column, badText: RowShape['badText']): Cell {
  const cell = toCell(value, column, badText)
  if (cell !== undefined && cell !== null) return cell
  throw refused('a key', 'none', column.name)
}

/**
 * Changes that can be folded are one run. Where keys differ and may yet be the same to the database, the changes of each
 * are a run of their own, in the order of the log.
 */
function inRuns(changes: readonly Change[]): readonly (readonly Change[])[] {
  const rows = new Map<string, string>()
  const unclear = new Set<string>()
  for (const { rough, row } of changes) {
    const other = rows.get(rough)
    if (other === undefined) rows.set(rough, row)
    else if (other !== row) unclear.add(rough)
  }
  if (unclear.size === 0) return [changes]
  const foldable = changes.filter(({ rough }) => !unclear.has(rough))
  const alone = changes.filter(({ rough }) => unclear.has(rough)).map((change) => [change])
  return foldable.length === 0 ? alone : [foldable, ...alone]
}

async function knownRows(
  transaction: RowTransaction,
  runs: readonly (readonly Change[])[],
): Promise<KnownRows> {
  if (transaction.known === undefined) return new Map()
  const rows = new Set(runs.flat().map(({ row }) => row))
  return new Map(await transaction.known([...rows].sort()))
}

/**
 * Refused changes with nothing of their row applied behind them, in the order of the log. Another row may have been in their
 * way: the one that still had a value which is to be unique, or that is referred to and had not come yet.
 */
function refusedLast(changes: readonly Change[], refusals: Refusals): readonly Change[] {
  const inOrder = changes.toSorted((one, other) => one.place - other.place)
  const lastApplied = new Map(
    inOrder
      .filter(({ place }) => refusals[place] === undefined)
      .map(({ row, place }) => [row, place]),
  )
  return inOrder.filter(
    ({ row, place }) => refusals[place] !== undefined && place > (lastApplied.get(row) ?? -1),
  )
}

function remember(rows: readonly Folding[], known: KnownRows): void {
  for (const { row, known: latest } of rows) if (latest !== undefined) known.set(row, latest)
}

function halves<T>(list: readonly T[]): readonly (readonly T[])[] {
  const half = Math.ceil(list.length / 2)
  return [list.slice(0, half), list.slice(half)]
}

/** Which columns and versions it sets. */
function columnsOf({ cells, versions }: Upsert): string {
  let text = ''
  for (const cell of cells) text += cell === undefined ? '-' : '+'
  for (const version of versions) text += version === undefined ? '-' : '+'
  return text
}
