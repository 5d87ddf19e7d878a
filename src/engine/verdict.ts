import { backoffWait } from '../backoff.ts'
import { causesOf } from '../causes.ts'
import { PolluxError } from '../errors.ts'
import { courseOf } from '../failures/course-of.ts'
import type { RetryableError } from '../handler-errors.ts'
import { overrideFor, type RetryRule } from '../retry.ts'

/** Why a message is given up. */
export type GivenUpBecause =
  /** It can never work. */
  | 'permanent'
  /** It has failed as often as it may. */
  | 'attempts'

/** What becomes of a message whose handler has failed. */
export type Verdict =
  /** It is handled again after so many milliseconds. An outage costs it no attempt. */
  | { readonly then: 'again'; readonly after: number; readonly isOutage: boolean }
  | { readonly then: 'give up'; readonly because: GivenUpBecause }
  /** Its partition stops, as a person has to mend something. */
  | { readonly then: 'stop' }

/** How often it has failed, this time included. */
export interface Failures {
  /** What counts as an attempt. */
  readonly attempts: number
  readonly outages: number
}

/** Decides about one failure. Pure. @param random from 0 to 1 */
export function verdictOn(
  error: unknown,
  failures: Failures,
  rule: RetryRule,
  random: number,
): Verdict {
  const override = overrideFor(error, rule)
  const course = courseOf(error)
  const { attempts, backoff } = override ?? rule
  if (override === undefined) {
    if (course === 'stop') return { then: 'stop' }
    if (course === 'dead-letter') return { then: 'give up', because: 'permanent' }
    if (course === 'wait') {
      // Never nothing: whoever is in trouble is not asked again at once.
      const after = backoffWait(backoff, failures.outages, 0.5 + random / 2)
      return { then: 'again', after, isOutage: true }
    }
  }
  if (failures.attempts >= attempts) return { then: 'give up', because: 'attempts' }
  const wait = backoffWait(backoff, failures.attempts, random)
  return { then: 'again', after: Math.max(wait, askedFor(error)), isOutage: false }
}

/** Whether an outage is nobody's fault; an override makes it count like any other failure. */
export function countsAsOutage(error: unknown, rule: RetryRule): boolean {
  return overrideFor(error, rule) === undefined && courseOf(error) === 'wait'
}

/** Milliseconds that the handler has asked for. */
function askedFor(error: unknown): number {
  for (const cause of causesOf(error)) {
    if (PolluxError.is(cause, 'POLLUX_RETRY_LATER')) return (cause as RetryableError).after ?? 0
  }
  return 0
}
