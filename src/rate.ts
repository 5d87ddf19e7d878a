import type { Duration } from './duration.ts'
import { duration, integer, type OptionTable } from './options.ts'

/** How often something may be done, as options say it. */
export interface RateOptions {
  readonly calls: number
  readonly per?: Duration
  readonly burst?: number
}

/** The same as read: `per` in milliseconds. */
export interface Rate {
  readonly calls: number
  readonly per: number
  readonly burst: number
}

export const rateOptions: OptionTable<Rate> = {
  calls: integer({
    default: 10,
    min: 1,
    max: 1_000_000,
    help: 'How many calls in how long a time, with `per`. Where no rate is given, there is no limit.',
  }),
  per: duration({
    default: '1s',
    min: '1ms',
    max: '1d',
    help: 'In how long a time so many `calls` may start.',
  }),
  burst: integer({
    default: 1,
    min: 1,
    max: 1_000_000,
    help: 'How many calls may start at once after a time of rest.',
  }),
}

/**
 * Of a token bucket, only the moment is kept at which it is full again: each call moves that by one `interval`, and its turn
 * comes when the bucket is no further from full than `tolerance`. Both in milliseconds.
 */
export function spacingOf({ calls, per, burst }: Rate): { interval: number; tolerance: number } {
  const interval = per / calls
  return { interval, tolerance: burst * interval }
}
