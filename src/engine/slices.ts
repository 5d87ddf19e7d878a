import { PolluxError } from '../errors.ts'
import type { StoreTransaction, Unit } from '../ports/store.ts'
import type { Starter } from './dispatcher.ts'
import type { Work } from './partition.ts'
import type { Setbacks } from './setbacks.ts'

/** What transactions are filled with. */
export interface SliceContents<First> {
  /** What the next one begins with, begun; undefined when there is nothing to start. */
  next(): First | undefined
  /**
   * Has handlers write in the transaction, until it is full or there is nothing left. Resolves to the messages whose
   * effects are to be committed with it, or done again when the transaction is broken.
   */
  fill(transaction: StoreTransaction, first: First): Promise<readonly Work[]>
}

/** What slices need of their surroundings. */
export interface SliceParts<First> {
  readonly contents: SliceContents<First>
  /** Opens a transaction; repeated while the store cannot be reached. */
  begin(): Promise<StoreTransaction>
  /** Commits the unit of these messages by `commit`. Rejects when the store does. */
  commit(
    works: readonly Work[],
    commit: (unit: Unit) => ReturnType<StoreTransaction['commit']>,
  ): Promise<void>
  /** What was stored for these is taken back: they are dropped, and their partitions start anew. */
  takenBack(works: readonly Work[], cause: Error): Promise<void>
  /** Resolves when so little is stored and not published that more may be added. */
  room(): Promise<void> | undefined
  /** There is nothing left that could start now. */
  startedAll(): void
  broken(error: unknown): void
  readonly setbacks: Setbacks
}

/**
 * Runs handlers that write in the unit's transaction themselves: one transaction after the other, each committed together
 * with everything else of the unit.
 */
export class Slices<First> implements Starter {
  readonly #parts: SliceParts<First>
  #isRunning = false

  constructor(parts: SliceParts<First>) {
    this.#parts = parts
  }

  dispatch(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#runAll()
  }

  dispatchNow(): void {
    this.dispatch()
  }

  async #runAll(): Promise<void> {
    const { contents, startedAll, broken, room } = this.#parts
    try {
      for (let first = contents.next(); first !== undefined; first = contents.next()) {
        const waiting = room()
        if (waiting !== undefined) await waiting
        await this.#runPatiently(first)
      }
      this.#isRunning = false
      startedAll()
    } catch (error) {
      broken(error)
    }
  }

  async #runPatiently(first: First): Promise<void> {
    const { setbacks } = this.#parts
    setbacks.begin()
    try {
      await this.#run(first)
    } finally {
      setbacks.end()
    }
  }

  /** One transaction, beginning with this. */
  async #run(first: First): Promise<void> {
    const { contents, commit, takenBack, setbacks } = this.#parts
    const transaction = await this.#parts.begin()
    const done = await contents.fill(transaction, first)
    if (done.length === 0) return transaction.rollback()
    const cause = transaction.broken ?? unsound(done)
    if (cause !== undefined) {
      await transaction.rollback()
      return takenBack(done, cause)
    }
    try {
      await commit(done, (unit) => transaction.commit(unit))
      setbacks.answered()
    } catch (error) {
      // Whether it was committed, the ledger says.
      if (!PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE')) throw error
      await takenBack(done, error)
    } finally {
      // In case the unit was not even tried.
      await transaction.rollback()
    }
  }
}

/** All that a service may ask for is the same transaction, under the names it chose. */
export function grant(
  uses: Readonly<Record<string, unknown>>,
  capability: unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.keys(uses).map((name) => [name, capability]))
}

/** What was written for a partition that was lost meanwhile, or on dropped state, cannot be told from the rest. */
function unsound(works: readonly Work[]): Error | undefined {
  const bad = works.find(
    ({ partition, effects }) => partition.hasEnded || effects?.cell?.isInvalid === true,
  )
  return bad && new Error(`what ${bad} was built on has gone`)
}
