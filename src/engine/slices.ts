import { PolluxError } from '../errors.ts'
import type { StoreTransaction } from '../ports/store.ts'
import type { Starter } from './dispatcher.ts'
import type { Work } from './partition.ts'
import type { Setbacks } from './setbacks.ts'
import type { OwnWork } from './unit.ts'

/** What is to be committed with a transaction. */
export interface Filled {
  /** Their effects are in it. They are handled again when it is broken. */
  readonly works: readonly Work[]
  /** What was done in it for a partition rather than for a message. */
  readonly own?: OwnWork | undefined
}

/** Has handlers write in the transaction, until it is full or there is nothing left. */
export type Slice = (transaction: StoreTransaction) => Promise<Filled>

/** What transactions are filled with. */
export interface SliceContents {
  /** What the next transaction is for, begun; undefined when there is nothing to start. */
  next(): Slice | undefined
}

/** What slices need of their surroundings. */
export interface SliceParts {
  readonly contents: SliceContents
  /** Work that is due by time; it takes turns with the contents. */
  readonly schedule: SliceContents | undefined
  /** Opens a transaction; repeated while the store cannot be reached. */
  begin(): Promise<StoreTransaction>
  /** Commits the unit of these by `commit`. Rejects when the store does. */
  commit(filled: Filled, commit: StoreTransaction['commit']): Promise<void>
  /** What was stored for these is taken back: they are dropped, and their partitions start anew. */
  takenBack(filled: Filled, cause: Error): Promise<void>
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
export class Slices implements Starter {
  readonly #parts: SliceParts
  #isRunning = false
  #isContentsTurn = false

  constructor(parts: SliceParts) {
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
    const { startedAll, broken, room } = this.#parts
    try {
      for (let slice = this.#next(); slice !== undefined; slice = this.#next()) {
        const waiting = room()
        if (waiting !== undefined) await waiting
        await this.#runPatiently(slice)
      }
      this.#isRunning = false
      startedAll()
    } catch (error) {
      broken(error)
    }
  }

  /** By turns: neither messages nor a schedule that always asks for more keep the other waiting. */
  #next(): Slice | undefined {
    const { contents, schedule } = this.#parts
    const due = this.#isContentsTurn ? undefined : schedule?.next()
    this.#isContentsTurn = due !== undefined
    return due ?? contents.next() ?? schedule?.next()
  }

  async #runPatiently(slice: Slice): Promise<void> {
    const { setbacks } = this.#parts
    setbacks.begin()
    try {
      await this.#run(slice)
    } finally {
      setbacks.end()
    }
  }

  async #run(slice: Slice): Promise<void> {
    const transaction = await this.#parts.begin()
    const filled = await slice(transaction)
    try {
      await this.#end(filled, transaction)
    } finally {
      // In case there is nothing to commit, or it was not even tried.
      await transaction.rollback()
      filled.own?.partition.finishOne()
    }
  }

  async #end(filled: Filled, transaction: StoreTransaction): Promise<void> {
    const { commit, takenBack, setbacks } = this.#parts
    if (filled.works.length === 0 && filled.own === undefined) return
    const cause = transaction.broken ?? unsound(filled)
    if (cause !== undefined) {
      await transaction.rollback()
      return await takenBack(filled, cause)
    }
    try {
      await commit(filled, (unit) => transaction.commit(unit))
      setbacks.answered()
    } catch (error) {
      // Whether it was committed, the ledger says.
      if (!PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE')) throw error
      await takenBack(filled, error)
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
function unsound({ works, own }: Filled): Error | undefined {
  const bad =
    works.find(
      ({ partition, effects }) => partition.hasEnded || effects?.cell?.isInvalid === true,
    ) ?? (own?.partition.hasEnded === true ? own.partition : undefined)
  return bad && new Error(`what ${bad} was built on has gone`)
}
