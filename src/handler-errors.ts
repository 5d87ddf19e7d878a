import { type Duration, milliseconds } from './duration.ts'
import { type ErrorDetails, PolluxError } from './errors.ts'

/**
 * Thrown by a handler: this message can never be handled, so it is not tried again. Without a dead letter its
 * partition stops.
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
 * Thrown by a handler: not now, but later. Thrown while its partition is being given up, it is no failure: the next
 * owner is given the message again. At other times the partition stops, as there is no retry yet.
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
