import type { Clock } from '../../ports/clock.ts'

/** How often something may be called. */
export interface Rate {
  /** So many calls… */
  readonly calls: number
  /** … in so many milliseconds. */
  readonly per: number
  /** How many may come at once after a time of rest. */
  readonly burst: number
}

/**
 * Spaces calls out; shared by all who ask it. `reserve` takes the next turn and gives the milliseconds until it comes, so
 * that those who wait are served in order and nobody has to ask twice. A turn that is not used is lost.
 */
export interface RateLimiter {
  reserve(clock: Clock): number | Promise<number>
}

interface TokenBucket extends RateLimiter {
  reserve(clock: Clock): number
}

/**
 * A token bucket of this process. Of the bucket only the moment is kept at which it is full again: each call moves that
 * by one interval, and a turn comes when the bucket is less than a burst away from full.
 */
export function tokenBucket({ calls, per, burst }: Rate): TokenBucket {
  const interval = per / calls
  let full = Number.NEGATIVE_INFINITY
  return {
    reserve(clock) {
      const now = clock.now()
      full = Math.max(full, now) + interval
      return Math.max(0, full - burst * interval - now)
    },
  }
}
