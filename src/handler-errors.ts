import { type Duration, milliseconds } from './duration.ts'
import { type ErrorDetails, PolluxError } from './errors.ts'

/**
 * Thrown by a handler: this message can never be handled, so it is not tried again but becomes a dead letter at once.
 */
export class NonRetryableError extends PolluxError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('POLLUX_NOT_RETRYABLE', message, details)
    this.name = 'NonRetryableError'
  }
}

/** What a `RetryableError` says beside its message. */
export interface RetryDetails extends ErrorDetails {
  /** The shortest time until it makes sense to try again. */
  readonly after?: Duration
}

/**
 * Thrown by a handler: not now, but later. It is tried again as the service's `retry` says, and not before `after`.
 * Thrown while its partition is being given up, it is no failure: the next owner is given the message again.
 */
export class RetryableError extends PolluxError {
  /** Milliseconds until it makes sense to try again; undefined when nothing is known. */
  declare readonly after: number | undefined

  /** @throws POLLUX_DURATION_INVALID for an `after` that is none. */
  constructor(message: string, { after, ...details }: RetryDetails = {}) {
    super('POLLUX_RETRY_LATER', message, details)
    this.name = 'RetryableError'
    if (after !== undefined) this.after = milliseconds(after)
  }
}
