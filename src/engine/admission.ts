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

  /** Ends what a started message holds: its effects are durable, or it was dropped. */
  leave(work: Work, isCommitted: boolean): void {
    const { effects } = work
    if (effects === undefined) return
    if (effects.mark !== undefined && effects.claim !== undefined)
      this.#claims.release(work, effects.mark, effects.claim, isCommitted)
    effects.claim = undefined
    this.#loader.giveBack(work)
  }
}
