import { RetryableError } from '../../handler-errors.ts'
import { pause } from '../../pause.ts'
import type { Clock } from '../../ports/clock.ts'
import { Breaker, type Outcome, type Ticket } from './breaker.ts'
import type { DelegateSettings } from './option-tables.ts'

/** A wait was ended because the partition is given up. */
export function stopped(what: string): RetryableError {
  return new RetryableError(`Stopping while ${what}: the message is delivered again.`)
}

/** A called service does not want to be called for longer than we are ready to wait. */
export function askedTooMuch(after: number, cause?: unknown): RetryableError {
  return new RetryableError(
    'The called service asks for a longer wait than longestWait.',
    cause === undefined ? { after } : { after, cause },
  )
}

/** What all calls of a delegate pass: it is shut while the breaker is open, and while the called service has asked for peace. */
export class Barrier {
  readonly #breaker: Breaker | undefined
  readonly #clock: Clock
  readonly #settings: Pick<DelegateSettings, 'backoff' | 'longestWait'>
  #heldUntil = 0
  #changed = new AbortController()

  constructor(
    settings: Pick<DelegateSettings, 'breaker' | 'backoff' | 'longestWait'>,
    clock: Clock,
  ) {
    this.#breaker = settings.breaker && new Breaker(settings.breaker)
    this.#clock = clock
    this.#settings = settings
  }

  /** False when failures are the called service's fault and not the message's. */
  get isClosed(): boolean {
    return this.#breaker?.isClosed !== false
  }

  /** Waits until a call may be made. @throws POLLUX_RETRY_LATER when `stopping` ends the wait, or it would be too long. */
  async enter(stopping: AbortSignal): Promise<Ticket> {
    for (;;) {
      const admitted = this.#admit()
      if (typeof admitted !== 'number') return admitted
      if (stopping.aborted) throw stopped('the called service is given time to recover')
      await pause(this.#clock, admitted, AbortSignal.any([stopping, this.#changed.signal]))
    }
  }

  /** Waits while the called service has asked for peace, or until `stopping`. @throws POLLUX_RETRY_LATER when it would be too long. */
  async rest(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const held = this.#held()
      if (held === 0) return
      await pause(this.#clock, held, stopping)
    }
  }

  #admit(): Ticket | number {
    const held = this.#held()
    if (held > 0) return held
    return this.#breaker?.admit(this.#clock.now()) ?? { isProbe: false, era: 0 }
  }

  #held(): number {
    const held = this.#heldUntil - this.#clock.now()
    if (held <= 0) return 0
    const { longestWait, backoff } = this.#settings
    if (held > longestWait) throw askedTooMuch(held)
    // Those that wait for the same moment do not come at the same moment.
    return held + this.#clock.random() * backoff.base
  }

  /** Whether the way is still free that a ticket was given for. */
  isFree({ isProbe }: Ticket): boolean {
    return this.#heldUntil <= this.#clock.now() && (isProbe || this.isClosed)
  }

  /** Gives a ticket back. */
  leave(ticket: Ticket, outcome: Outcome): void {
    if (this.#breaker?.record(ticket, outcome, this.#clock.now()) !== true) return
    this.#changed.abort()
    this.#changed = new AbortController()
  }

  /** Lets nobody through for so many milliseconds, as the called service has asked for. */
  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#clock.now() + ms)
  }
}
