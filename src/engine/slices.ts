import { PolluxError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { StoreTransaction, Unit } from '../ports/store.ts'
import type { Admission } from './admission.ts'
import { Attempt, type AttemptParts } from './attempt.ts'
import type { Outcomes, Starter } from './dispatcher.ts'
import type { Lanes } from './lanes.ts'
import type { Work } from './partition.ts'
import type { Setbacks } from './setbacks.ts'

/** What slices need of their surroundings. */
export interface SliceParts {
  readonly attempts: AttemptParts
  readonly lanes: Lanes
  readonly admission: Admission
  readonly outcomes: Pick<Outcomes, 'skipped' | 'failed' | 'startedAll'>
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
  broken(error: unknown): void
  readonly setbacks: Setbacks
  readonly clock: Clock
}

// What a transaction may hold locks for: so many messages, or so long.
const largestSlice = 200
const longestSlice = 250

/**
 * Runs handlers that write in the unit's transaction themselves: one after the other, each behind a savepoint, and commits
 * what they wrote together with everything else of the unit.
 */
export class Slices implements Starter {
  readonly #parts: SliceParts
  #isRunning = false

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
    const { outcomes, broken, room } = this.#parts
    try {
      for (let work = this.#next(); work !== undefined; work = this.#next()) {
        const waiting = room()
        if (waiting !== undefined) await waiting
        await this.#runPatiently(work)
      }
      this.#isRunning = false
      outcomes.startedAll()
    } catch (error) {
      broken(error)
    }
  }

  /** The next message that is to be handled or skipped, begun. */
  #next(): { readonly work: Work; readonly isSkipped: boolean } | undefined {
    const { lanes, admission } = this.#parts
    for (let work = lanes.next(); work !== undefined; work = lanes.next()) {
      const admitted = admission.admit(work)
      if (admitted === 'wait') continue
      work.partition.inFlight += 1
      work.effects?.begin()
      // Held until its handler has ended, also where that waits for nothing.
      lanes.enter(work)
      return { work, isSkipped: admitted === 'skip' }
    }
    return undefined
  }

  async #runPatiently(first: { readonly work: Work; readonly isSkipped: boolean }): Promise<void> {
    const { setbacks } = this.#parts
    setbacks.begin()
    try {
      await this.#run(first)
    } finally {
      setbacks.end()
    }
  }

  /** One transaction, beginning with this message. */
  async #run(first: { readonly work: Work; readonly isSkipped: boolean }): Promise<void> {
    const { clock, commit, takenBack, setbacks } = this.#parts
    const transaction = await this.#parts.begin()
    const done: Work[] = []
    const start = clock.now()
    let next: typeof first | undefined = first
    while (next !== undefined) {
      if (next.isSkipped) this.#skip(next.work, done)
      else await this.#attempt(next.work, transaction, done)
      if (transaction.broken !== undefined) break
      const isFull = done.length >= largestSlice || clock.now() - start >= longestSlice
      next = isFull ? undefined : this.#next()
    }
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

  #skip(work: Work, done: Work[]): void {
    this.#parts.outcomes.skipped(work)
    done.push(work)
    this.#end(work)
  }

  async #attempt(work: Work, transaction: StoreTransaction, done: Work[]): Promise<void> {
    const { attempts, outcomes } = this.#parts
    let attempt: Attempt | undefined
    try {
      await transaction.attempt(async (capability) => {
        attempt = new Attempt(attempts, work, grant(attempts.service.uses, capability))
        attempt.end(await attempt.run())
      })
      attempt?.keep()
      done.push(work)
    } catch (cause) {
      // The transaction's end is not this message's fault: it is done again like the others.
      if (transaction.broken !== undefined) {
        attempt?.fail(cause)
        done.push(work)
      } else {
        outcomes.failed(work, (attempt ?? new Attempt(attempts, work)).fail(cause))
      }
    }
    this.#end(work)
  }

  #end(work: Work): void {
    this.#parts.lanes.leave(work)
  }
}

/** All that a service may ask for is the same transaction, under the names it chose. */
function grant(
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
