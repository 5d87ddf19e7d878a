import { backoffOptions } from '../../backoff.ts'
import type { Duration } from '../../duration.ts'
import { checkMethods, type Problems, readInside, readOptions } from '../../options.ts'
import type { RateLimiter } from '../../ports/rate-limiter.ts'
import { type RateOptions, rateOptions } from '../../rate.ts'
import { handlerOptionNames } from '../../service-options.ts'
import { breakerOptions, type DelegateSettings, delegateOptions } from './option-tables.ts'
import { tokenBucket } from './token-bucket.ts'

/** The plain options of a delegate; `docs/options.md` describes them. */
export interface DelegateOptions {
  readonly timeLimit?: Duration
  readonly attempts?: number | 'endless'
  readonly longestWait?: Duration
  readonly backoff?: { readonly base?: Duration; readonly max?: Duration }
  /** False: none. */
  readonly breaker?: BreakerOptions | false
  /** Default: as fast as it goes. Give one of a store where processes share a limit. */
  readonly rateLimit?: RateOptions | RateLimiter
}

/** The breaker's plain options. */
export interface BreakerOptions {
  readonly window?: number
  readonly threshold?: number
  readonly calls?: number
  readonly pause?: Duration
  readonly longestPause?: Duration
  readonly probes?: number
}

// Beside those of the table.
const otherNames = [
  ...['input', 'outputs', 'idempotency', 'call', 'callMany', 'batch', 'handle'],
  ...['classify', 'cache', 'backoff', 'breaker', 'rateLimit', ...handlerOptionNames],
]

/** Reads the options that are none of a service's, and notes what is wrong. */
export function readDelegateOptions(
  { backoff, breaker, rateLimit, ...plain }: DelegateOptions,
  problems: Problems,
): DelegateSettings {
  const read = readOptions(delegateOptions, plain, problems, otherNames)
  const wait = readInside('backoff', backoffOptions, backoff, problems)
  if (wait.base > wait.max) problems.add('backoff.base: expected no more than backoff.max')
  const breaking =
    breaker === false ? undefined : readInside('breaker', breakerOptions, breaker, problems)
  if (breaking !== undefined && breaking.calls > breaking.window)
    problems.add('breaker.calls: expected no more than breaker.window')
  return { ...read, backoff: wait, breaker: breaking, limiter: readLimiter(rateLimit, problems) }
}

function readLimiter(given: unknown, problems: Problems): RateLimiter | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'object' && given !== null && 'reserve' in given) {
    checkMethods('rateLimit', given, ['reserve'], 'a rate limiter', problems)
    return given as RateLimiter
  }
  return tokenBucket(readInside('rateLimit', rateOptions, given, problems))
}
