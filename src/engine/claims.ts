import type { Work } from './partition.ts'

/** What to do with a message whose turn it is. */
export type Admission = 'handle' | 'skip' | 'wait'

/**
 * Decides about messages of events that may come more than once. While one copy of an event is in work, from its start
 * to its commit, others of the same event wait for what becomes of it: both would otherwise be handled, and one of
 * them in vain.
 *
 * Only started messages hold a claim, and a started message waits for none, so they never wait in a circle.
 */
export class Claims {
  readonly #remembered: number
  readonly #resume: (work: Work) => void
  /** The events in work, with the copies that wait. */
  readonly #held = new Map<string, Work[] | undefined>()
  /** Committed lately. A copy that was loaded before that commit and starts after it must not be handled. */
  #recent = new Set<string>()
  #older = new Set<string>()

  /**
   * @param remembered how many commits may lie between a message's load and its start at most.
   * @param resume called for each copy whose wait is over.
   */
  constructor(remembered: number, resume: (work: Work) => void) {
    this.#remembered = remembered
    this.#resume = resume
  }

  /** Takes the event's claim. `wait`: `resume` will be called. */
  take(work: Work, mark: Buffer): Admission {
    const name = nameOf(work, mark)
    if (this.#recent.has(name) || this.#older.has(name)) return 'skip'
    if (!this.#held.has(name)) {
      this.#held.set(name, undefined)
      return 'handle'
    }
    const waiting = this.#held.get(name)
    if (waiting === undefined) this.#held.set(name, [work])
    else waiting.push(work)
    return 'wait'
  }

  /** The message that holds the claim was committed, or dropped. */
  release(work: Work, mark: Buffer, isCommitted: boolean): void {
    const name = nameOf(work, mark)
    const waiting = this.#held.get(name)
    this.#held.delete(name)
    if (isCommitted) this.#remember(name)
    // Those that come next will find it done, or take the claim themselves.
    if (waiting !== undefined) for (const copy of waiting) this.#resume(copy)
  }

  #remember(name: string): void {
    this.#recent.add(name)
    if (this.#recent.size < this.#remembered) return
    this.#older = this.#recent
    this.#recent = new Set()
  }
}

function nameOf({ partition }: Work, mark: Buffer): string {
  return `${partition.topic}/${mark.toString('latin1')}`
}
