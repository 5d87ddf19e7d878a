import { type BackoffSettings, backoffOptions } from './backoff.ts'
import { causesOf } from './causes.ts'
import type { Duration } from './duration.ts'
import { shown } from './errors.ts'
import {
  duration,
  integer,
  type OptionTable,
  type Problems,
  readInside,
  readOptions,
  withoutDefault,
} from './options.ts'

/** Which errors: those of this `code` or `name`, those of this class, or those of which the function says so. */
export type ErrorMatch =
  | string
  | (abstract new (
      ...given: never[]
    ) => Error)
  | ((error: unknown) => boolean)

/** How waits between tries grow. */
export interface BackoffOptions {
  readonly base?: Duration
  readonly max?: Duration
}

/** What holds for some errors instead of the rest of the policy. */
export interface RetryOverride {
  /** Looked for in the error and its causes. The first override that matches counts. */
  readonly on: ErrorMatch
  /** 1: it is given up at once. An outage that matches counts like any other failure. */
  readonly attempts?: number
  readonly backoff?: BackoffOptions
}

/** What happens before a message is given up; `docs/options.md` describes the plain options. */
export interface RetryOptions {
  readonly attempts?: number
  readonly backoff?: BackoffOptions
  readonly timeLimit?: Duration
  readonly overrides?: readonly RetryOverride[]
}

/** As read. */
export interface RetryRule extends RetryPolicy {
  readonly timeLimit: number | undefined
  readonly overrides: readonly (RetryPolicy & { readonly on: ErrorMatch })[]
}

/** How often and when. */
export interface RetryPolicy {
  readonly attempts: number
  readonly backoff: BackoffSettings
}

export const retryOptions: OptionTable<{
  readonly attempts: number
  readonly timeLimit: number | undefined
}> = {
  attempts: integer({
    min: 1,
    max: 1_000_000,
    default: 5,
    help:
      'How often a message is tried, the first time included, before it becomes a dead letter. What does not count: ' +
      'trouble of the store, the broker or the network, which is waited out. Too low: what stumbles costs messages. Too ' +
      'high: a message that always fails holds its key that long.',
  }),
  timeLimit: withoutDefault(
    duration({
      min: '1ms',
      max: '1d',
      default: '1d',
      help:
        'How long one try of a handler may take. Then its signal is aborted and it counts as failed; what it does later ' +
        'has no effect here, but may have one elsewhere. Too low: slow work is done in vain. None: a handler that ' +
        'hangs holds its key until the process ends.',
    }),
    'none',
  ),
}

/** Adds what is wrong to `problems`. */
export function readRetry(given: unknown, problems: Problems): RetryRule {
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    problems.add(
      `retry: expected { attempts, backoff, timeLimit, overrides }, found ${shown(given)}`,
    )
    return readRetry(undefined, problems)
  }
  const { backoff, overrides = [], ...plain } = (given ?? {}) as RetryOptions
  const inside = problems.within('retry')
  const policy = {
    ...readOptions(retryOptions, plain, inside, ['backoff', 'overrides']),
    backoff: readBackoff(backoff, inside),
  }
  if (Array.isArray(overrides)) {
    return { ...policy, overrides: overrides.map((one) => readOverride(one, policy, inside)) }
  }
  inside.add(
    `overrides: expected an array of { on, attempts?, backoff? }, found ${shown(overrides)}`,
  )
  return { ...policy, overrides: [] }
}

function readOverride(
  given: unknown,
  policy: RetryPolicy,
  problems: Problems,
): RetryRule['overrides'][number] {
  const { on, backoff, ...plain } = (given ?? {}) as Partial<RetryOverride>
  if (typeof on !== 'string' && typeof on !== 'function')
    problems.add(
      `overrides.on: expected a code, a class of errors or a function, found ${shown(on)}`,
    )
  const { attempts } = readOptions({ attempts: retryOptions.attempts }, plain, problems, [
    'on',
    'backoff',
  ])
  return {
    on: on as ErrorMatch,
    attempts: plain.attempts === undefined ? policy.attempts : attempts,
    backoff: backoff === undefined ? policy.backoff : readBackoff(backoff, problems),
  }
}

function readBackoff(given: unknown, problems: Problems): BackoffSettings {
  const read = readInside('backoff', backoffOptions, given, problems)
  if (read.base > read.max) problems.add('backoff.base: expected no more than backoff.max')
  return read
}

/** The override that this error falls under. */
export function overrideFor(
  error: unknown,
  { overrides }: RetryRule,
): RetryRule['overrides'][number] | undefined {
  if (overrides.length === 0) return undefined
  const causes = [...causesOf(error)]
  return overrides.find(({ on }) => causes.some((cause) => matches(cause, on)))
}

function matches(error: object, on: ErrorMatch): boolean {
  if (typeof on === 'string') {
    const { code, name } = error as { readonly code?: unknown; readonly name?: unknown }
    return code === on || name === on
  }
  return isErrorClass(on) ? error instanceof on : (on as (error: unknown) => boolean)(error)
}

function isErrorClass(on: unknown): on is abstract new () => Error {
  const { prototype } = on as { readonly prototype?: unknown }
  return on === Error || prototype instanceof Error
}
