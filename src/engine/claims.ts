import type { Work } from './partition.ts'

/** An event that is in work, or was committed lately. */
export interface Claim {
  isCommitted: boolean
  /** Copies that wait for what becomes of it. */
  waiting: Work[] | undefined
}

/** By id. Two generations, so that old ones go away without being looked for. */
interface TopicClaims {
  current: Map<string, Claim>
  older: Map<string, Claim>
}

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
  readonly #topics = new Map<string, TopicClaims>()

  /**
   * @param remembered how many commits may lie between a message's load and its start at most: a copy that was loaded before
   * its original's commit, and starts after it, must not be handled.
   * @param resume called for each copy whose wait is over.
   */
  constructor(remembered: number, resume: (work: Work) => void) {
    this.#remembered = remembered
    this.#resume = resume
  }

  /** The event's claim, which is the caller's now; `applied` when it was committed; `wait`: `resume` will be called. */
  take(work: Work, mark: Buffer): Claim | 'applied' | 'wait' {
    const topic = this.#claimsOf(work.partition.topic)
    const name = mark.toString('latin1')
    const known = topic.current.get(name) ?? topic.older.get(name)
    if (known === undefined) {
      const claim = { isCommitted: false, waiting: undefined }
      topic.current.set(name, claim)
      if (topic.current.size >= this.#remembered) forgetOldest(topic)
      return claim
    }
    if (known.isCommitted) return 'applied'
    known.waiting ??= []
    known.waiting.push(work)
    return 'wait'
  }

  /** The message that holds the claim was committed, or dropped. */
  release(work: Work, mark: Buffer, claim: Claim, isCommitted: boolean): void {
    claim.isCommitted = isCommitted
    if (!isCommitted) {
      const { current, older } = this.#claimsOf(work.partition.topic)
      const name = mark.toString('latin1')
      current.delete(name)
      older.delete(name)
    }
    // Those that come next will find it done, or take the claim themselves.
    if (claim.waiting !== undefined) for (const copy of claim.waiting) this.#resume(copy)
    claim.waiting = undefined
  }

  #claimsOf(topic: string): TopicClaims {
    let claims = this.#topics.get(topic)
    if (claims === undefined) {
      claims = { current: new Map(), older: new Map() }
      this.#topics.set(topic, claims)
    }
    return claims
  }
}

/** What is still in work is taken along. */
function forgetOldest(topic: TopicClaims): void {
  const kept = [...topic.older].filter(([, { isCommitted }]) => !isCommitted)
  topic.older = topic.current
  topic.current = new Map(kept)
}
