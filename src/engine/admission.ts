import type { Claims } from './claims.ts'
import type { Lanes } from './lanes.ts'
import type { Loader } from './loader.ts'
import type { Work } from './partition.ts'

/** Where messages of a service with a store pass before they are handled. */
export class Admission {
  readonly #lanes: Lanes
  readonly #loader: Loader
  readonly #claims: Claims

  constructor(parts: {
    readonly lanes: Lanes
    readonly loader: Loader
    readonly claims: Claims
  }) {
    this.#lanes = parts.lanes
    this.#loader = parts.loader
    this.#claims = parts.claims
  }

  /**
   * Whether a message whose turn it is may be handled now. `skip`: its event was applied. `wait`: it is held in its lane
   * and comes up again by itself.
   */
  admit(work: Work): 'handle' | 'skip' | 'wait' {
    const { effects } = work
    if (effects === undefined) return 'handle'
    if (!effects.isReady) {
      this.#lanes.hold(work)
      this.#loader.again(work)
      return 'wait'
    }
    if (effects.isApplied) return 'skip'
    // It may have one from an attempt that has failed.
    if (effects.mark === undefined || effects.claim !== undefined) return 'handle'
    const claim = this.#claims.take(work, effects.mark)
    if (claim === 'wait') {
      this.#lanes.hold(work)
      return 'wait'
    }
    if (claim === 'applied') {
      // Its original was committed since it was loaded.
      effects.isApplied = true
      return 'skip'
    }
    effects.claim = claim
    return 'handle'
  }

  /**
   * Ends the claim of a message that is to be handled again: it waits for its turn now, and a copy that waits for it may
   * be before it in its lane.
   */
  unclaim(work: Work): void {
    this.#release(work, work.effects?.isApplied === true)
  }

  /** Ends what a started message holds: its effects are durable, or it was dropped. */
  leave(work: Work, isCommitted: boolean): void {
    if (work.effects === undefined) return
    this.#release(work, isCommitted)
    this.#loader.giveBack(work)
  }

  #release(work: Work, isCommitted: boolean): void {
    const { mark, claim } = work.effects ?? {}
    if (work.effects === undefined || mark === undefined || claim === undefined) return
    work.effects.claim = undefined
    this.#claims.release(work, mark, claim, isCommitted)
  }
}
