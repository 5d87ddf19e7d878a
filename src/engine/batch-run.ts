import { PolluxError } from '../errors.ts'
import { Attempt, type AttemptParts } from './attempt.ts'
import { type Decoded, decodeAll, type Verdict } from './batch-call.ts'
import type { Partition, Work } from './partition.ts'
import type { Fate } from './retries.ts'

/** What a batch needs of its surroundings. None of the outcomes may throw. */
export interface BatchRunParts {
  readonly attempts: AttemptParts
  /** `callForMany` of these, and what surrounds it. */
  call(given: readonly Decoded[]): Promise<readonly Verdict[]>
  /** A call in which a message has failed leaves nothing behind, so the others are to be handled again. */
  readonly takesBack: boolean
  /** Whether nothing more can come of it, by no message's fault. */
  isBroken(): boolean
  succeeded(work: Work, attempt: Attempt): void
  failed(work: Work, error: PolluxError): Fate
  /** It follows one that is not finished here. */
  dropped(work: Work): void
  /** It follows one of its lane that is held. */
  behind(work: Work): void
  /** What tells its lane from others of its partition. */
  laneOf(work: Work): unknown
  /** It was not handled, as all is broken. */
  unfinished(work: Work): void
}

/**
 * Handles the messages of one batch. When a call fails as a whole, its halves are handled one after the other, until the
 * message at fault stands alone; those behind it in its partition are dropped, and others have their effects.
 */
export class BatchRun {
  readonly #parts: BatchRunParts
  /** The first message of each that does not finish here, by its offset. */
  readonly #failed = new Map<Partition, number>()
  /** The lanes of each whose messages wait for one that is held. */
  readonly #held = new Map<Partition, Set<unknown>>()

  constructor(parts: BatchRunParts) {
    this.#parts = parts
  }

  async run(works: readonly Work[]): Promise<void> {
    const decoded: Decoded[] = []
    for (const one of await decodeAll(works)) {
      if (this.#isDropped(one.work)) continue
      if ('message' in one) decoded.push(one)
      else this.#fail(one.work, this.#errorOf(one.work, one.cause))
    }
    await this.#handle(decoded)
  }

  async #handle(given: readonly Decoded[]): Promise<void> {
    if (this.#parts.isBroken()) {
      for (const { work } of given) this.#parts.unfinished(work)
      return
    }
    const able = given.filter(({ work }) => this.#isAble(work))
    if (able.length === 0) return
    let verdicts: readonly Verdict[]
    try {
      verdicts = await this.#parts.call(able)
    } catch (cause) {
      return await this.#split(able, cause)
    }
    await this.#settle(verdicts)
  }

  async #split(given: readonly Decoded[], cause: unknown): Promise<void> {
    const [first] = given
    const isAborted = given.some(({ work }) => work.partition.signal.aborted)
    // Then the handler gave up because it was told to: the messages of other partitions are handled without those.
    if (this.#parts.isBroken() || isAborted) return await this.#handle(given)
    if (PolluxError.is(cause, 'POLLUX_RETRY_LATER') && this.#letGo(given, cause))
      return await this.#handle(given.filter(({ work }) => !work.partition.isClosed))
    if (first !== undefined && given.length === 1)
      return this.#fail(first.work, this.#errorOf(first.work, cause))
    const half = Math.ceil(given.length / 2)
    await this.#handle(given.slice(0, half))
    await this.#handle(given.slice(half))
  }

  /** Those of partitions that are given up: their handler has waited, and need not any longer. False when there are none. */
  #letGo(given: readonly Decoded[], cause: unknown): boolean {
    const closed = given.filter(({ work }) => work.partition.isClosed)
    for (const { work } of closed)
      if (!this.#isDropped(work)) this.#fail(work, this.#errorOf(work, cause))
    return closed.length > 0
  }

  async #settle(verdicts: readonly Verdict[]): Promise<void> {
    const { takesBack, succeeded } = this.#parts
    const isTakenBack = takesBack && verdicts.some(({ error }) => error !== undefined)
    const left: Decoded[] = []
    for (const { given, attempt, error } of verdicts) {
      if (this.#isDropped(given.work)) continue
      if (error !== undefined) this.#fail(given.work, error)
      else if (isTakenBack) left.push(given)
      else succeeded(given.work, attempt)
    }
    if (left.length > 0) await this.#handle(left)
  }

  #isAble(work: Work): boolean {
    if (this.#isDropped(work)) return false
    const { signal } = work.partition
    if (signal.aborted) this.#parts.failed(work, this.#errorOf(work, signal.reason))
    return !signal.aborted
  }

  /** What follows a message that has failed comes again with it: from the broker, or where that one is held, in its lane. */
  #isDropped(work: Work): boolean {
    const { partition, offset } = work
    if (offset > (this.#failed.get(partition) ?? offset)) {
      this.#parts.dropped(work)
      return true
    }
    if (this.#held.get(partition)?.has(this.#parts.laneOf(work)) !== true) return false
    this.#parts.behind(work)
    return true
  }

  #fail(work: Work, error: PolluxError): void {
    const fate = this.#parts.failed(work, error)
    if (fate === 'over') this.#failed.set(work.partition, work.offset)
    if (fate !== 'held') return
    const lanes = this.#held.get(work.partition) ?? new Set()
    this.#held.set(work.partition, lanes.add(this.#parts.laneOf(work)))
  }

  #errorOf(work: Work, cause: unknown): PolluxError {
    return new Attempt(this.#parts.attempts, work).fail(cause)
  }
}
