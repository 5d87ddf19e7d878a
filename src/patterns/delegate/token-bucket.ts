import type { Clock } from '../../ports/clock.ts'
import type { RateLimiter } from '../../ports/rate-limiter.ts'
import { type Rate, spacingOf } from '../../rate.ts'

interface TokenBucket extends RateLimiter {
  reserve(clock: Clock): number
}

/** A rate limit of this process. */
export function tokenBucket(rate: Rate): TokenBucket {
  const { interval, tolerance } = spacingOf(rate)
  let full = Number.NEGATIVE_INFINITY
  return {
    reserve(clock) {
      const now = clock.now()
      full = Math.max(full, now) + interval
      return Math.max(0, full - tolerance - now)
    },
  }
}
