import type { Clock } from './clock.ts'

/**
 * Spaces calls out; shared by all who ask it. `reserve` takes the next turn and gives the milliseconds until it comes, so
 * that those who wait are served in order and nobody has to ask twice. A turn that is not used is lost. It rejects when it
 * cannot be asked.
 */
export interface RateLimiter {
  reserve(clock: Clock): number | Promise<number>
}
