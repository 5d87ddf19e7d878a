import type { BackoffSettings } from '../../backoff.ts'
import { duration, integer, type Option, type OptionTable } from '../../options.ts'
import type { RateLimiter } from '../../ports/rate-limiter.ts'
import type { BreakerSettings } from './breaker.ts'

/** The options of a delegate as read: durations in milliseconds. */
export interface DelegateSettings {
  readonly timeLimit: number
  readonly attempts: number
  readonly longestWait: number
  readonly backoff: BackoffSettings
  readonly breaker: BreakerSettings | undefined
  readonly limiter: RateLimiter | undefined
}

export interface BatchSettings {
  readonly size: number
  readonly wait: number
}

export interface CacheSettings {
  readonly entries: number
  readonly lifetime: number
}

const attemptsOption: Option<number> = {
  default: 10,
  shownDefault: '10',
  expected: "a whole number from 1 to 1000000, or 'endless'",
  help:
    'How often a message is tried before it is given up. What does not count: answers that the service has too much to ' +
    'do, and failures while the breaker is open. Too low: a service that stumbles costs messages. "endless": a message ' +
    'that always fails holds its key, and in time its partition, for ever.',
  read: (given) =>
    given === 'endless'
      ? Number.POSITIVE_INFINITY
      : integer({ min: 1, max: 1_000_000, default: 1, help: '' }).read(given),
}

export const delegateOptions: OptionTable<
  Pick<DelegateSettings, 'timeLimit' | 'attempts' | 'longestWait'>
> = {
  timeLimit: duration({
    default: '30s',
    min: '1ms',
    max: '1h',
    help:
      'How long one call may take; then it is cut off, and counts as failed. Too low: slow answers are thrown away ' +
      'and asked for again. Too high: a call that hangs holds its key that long. It has nothing to do with pollLimit: ' +
      'polling goes on beside calls.',
  }),
  attempts: attemptsOption,
  longestWait: duration({
    default: '15m',
    help:
      'How long a called service may ask us to wait (Retry-After). If it asks for more, the message is given up with ' +
      'a RetryableError that says how long.',
  }),
}

export const breakerOptions: OptionTable<BreakerSettings> = {
  window: integer({
    default: 50,
    min: 1,
    max: 10_000,
    help: 'How many of the last calls the breaker looks at.',
  }),
  threshold: integer({
    default: 50,
    min: 1,
    max: 100,
    help: 'It opens when so many per cent of them have failed. Refusals and overload are no failures.',
  }),
  calls: integer({
    default: 10,
    min: 1,
    max: 10_000,
    help: 'It never opens after fewer calls than these. Must not be above window.',
  }),
  pause: duration({
    default: '1s',
    min: '1ms',
    max: '1h',
    help: 'How long it stays open before a call is let through as a probe; doubled with each probe that fails.',
  }),
  longestPause: duration({
    default: '30s',
    min: '1ms',
    max: '1d',
    help: 'The longest of these pauses. Too high: a service that is back stays unused that long.',
  }),
  probes: integer({
    default: 1,
    min: 1,
    max: 1_000,
    help: 'How many probes in a row have to succeed before it closes. They go one after the other.',
  }),
}

export const batchOptions: OptionTable<BatchSettings> = {
  size: integer({
    default: 32,
    min: 1,
    max: 10_000,
    help: 'How many messages go into one call at most. Must not be above concurrency, which bounds how many can wait.',
  }),
  wait: duration({
    default: '20ms',
    max: '1h',
    help: 'How long the first message of a batch waits for others. Too low: small batches. Too high: latency.',
  }),
}

export const cacheOptions: OptionTable<CacheSettings> = {
  entries: integer({
    default: 1_000,
    min: 1,
    max: 10_000_000,
    help: 'How many results are kept in this process; the one that was not used for longest goes first.',
  }),
  lifetime: duration({
    default: '1h',
    min: '1ms',
    help: 'How long a result counts. Too high: what the service would say now differs from it.',
  }),
}
