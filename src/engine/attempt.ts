import { type ErrorCode, errorText, PolluxError } from '../errors.ts'
import type { Message } from '../message.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import { type Logger, withFields } from '../ports/logger.ts'
import type { HandlerContext, Service } from '../service.ts'
import { asSentence, decodeMessage, lookAt } from './message.ts'
import type { Work } from './partition.ts'
import { AttemptState } from './state-cells.ts'
import { TimeLimit } from './time-limit.ts'
import { checkVersion, guardOf, isNewer } from './version-guard.ts'

/** What attempts need of their surroundings. */
export interface AttemptParts {
  readonly service: Service
  readonly logger: Logger
  readonly clock: Clock
  /** The records of what a handler returned. Throws when it cannot be sent: the attempt has failed then. */
  encode(work: Work, returned: unknown): readonly OutgoingRecord[]
  /** A newer version of its key was there already, so it has no effect. */
  stale(): void
  /** A handler has succeeded. */
  worked(): void
  /** A handler counts something of its own. */
  count(name: string, by: number): void
  /** A handler waits, until the result is called. */
  waiting(what: string): () => void
  /** A handler has measured something. */
  gauge(name: string, value: number): void
}

/** What an attempt comes to when its message is older than what its key has. */
const stale = Symbol('stale')

/** One run of a handler for one message. */
export class Attempt {
  readonly #parts: AttemptParts
  readonly #work: Work
  readonly #granted: Readonly<Record<string, unknown>> | undefined
  readonly #state: AttemptState | undefined
  readonly #limit: TimeLimit | undefined
  #guard: string | undefined
  #isStale = false
  #outputs: readonly OutgoingRecord[] = []
  #value: Buffer | null | undefined

  /** @param granted what the handler finds in its context beside the usual. */
  constructor(parts: AttemptParts, work: Work, granted?: Readonly<Record<string, unknown>>) {
    this.#parts = parts
    this.#work = work
    this.#granted = granted
    const { state, options } = parts.service
    const { timeLimit } = options.retry
    if (timeLimit !== undefined) this.#limit = new TimeLimit(parts.clock, timeLimit)
    this.#state = state === undefined ? undefined : new AttemptState(state, work)
  }

  /** Decodes and hands over; a promise only where the codec or the handler gives one. May throw. */
  run(): unknown {
    const { raw, partition, effects } = this.#work
    if (effects?.trouble !== undefined) throw effects.trouble
    const message = effects?.message ?? decodeMessage(raw, partition.definition)
    return message instanceof Promise
      ? message.then((decoded) => this.#handle(decoded))
      : this.#handle(message)
  }

  #handle(message: Message): unknown {
    const { service } = this.#parts
    if (
      service.idempotency?.by === 'version' &&
      !this.#takeVersion(service.idempotency.of(message))
    )
      return stale
    const context = new Context(this.#work, this.#state, this.#parts, this.#limit)
    if (this.#granted !== undefined) Object.assign(context, this.#granted)
    return service.handle?.(message as never, context as never)
  }

  #takeVersion(given: unknown): boolean {
    const version = checkVersion(given, this.#work)
    const { cell } = this.#work.effects ?? {}
    if (cell === undefined) {
      throw new PolluxError(
        'POLLUX_STATE_UNAVAILABLE',
        `${this.#work} has no key, and versions are kept by key.`,
      )
    }
    if (!isNewer(version, this.#work, cell.guard)) return false
    this.#guard = guardOf(version, this.#work)
    return true
  }

  /** What the handler's promise comes to, or a failure where that takes too long. */
  awaited(returned: unknown): Promise<unknown> {
    // Not its own `then`: a thenable that is no promise may call back twice, at once, or throw.
    return this.#limit?.of(returned) ?? Promise.resolve(returned)
  }

  /** Takes what the handler returned; may throw, then the attempt has failed. */
  end(returned: unknown): void {
    if (returned === stale) {
      this.#isStale = true
    } else {
      this.#outputs = this.#parts.encode(this.#work, returned)
      this.#value = this.#state?.end()
    }
  }

  /** Makes what came out of an attempt that has ended what the next message of the key sees. */
  keep(): void {
    this.#parts.worked()
    // Those of an earlier attempt that was in vain are gone in any case.
    this.#work.outputs = this.#outputs
    if (this.#isStale) return this.#parts.stale()
    const { effects } = this.#work
    if (effects?.cell === undefined) return
    if (this.#value === undefined && this.#guard === undefined) return
    const { cell } = effects
    if (this.#value !== undefined) cell.value = this.#value
    if (this.#guard !== undefined) cell.guard = this.#guard
    effects.change = { value: cell.value, guard: cell.guard }
  }

  /** Ends a failed attempt, and tells whose fault it was. */
  fail(cause: unknown): PolluxError {
    this.#state?.drop()
    if (PolluxError.is(cause) && told.includes(cause.code)) return cause
    const { topic, partition } = this.#work.partition
    return new PolluxError(
      'POLLUX_HANDLER_FAILED',
      `The handler of ${this.#work} failed: ${asSentence(errorText(cause))}`,
      {
        hint: `POLLUX_DEBUG=1 shows the stack. ${lookAt({ topic, partition, offset: this.#work.offset })}`,
        cause,
      },
    )
  }
}

// These say already which message is at fault, and whose fault it is.
const told: readonly ErrorCode[] = [
  'POLLUX_DECODE_FAILED',
  'POLLUX_ENCODE_FAILED',
  'POLLUX_OUTPUT_UNDECLARED',
  'POLLUX_OUTPUT_REFUSED',
  'POLLUX_STATE_UNAVAILABLE',
  'POLLUX_STORE_FAILED',
  'POLLUX_HANDLER_FAILED',
]

class Context implements HandlerContext {
  readonly state: AttemptState | undefined
  readonly #work: Work
  readonly #parts: AttemptParts

  readonly #limit: TimeLimit | undefined
  #signal: AbortSignal | undefined

  constructor(
    work: Work,
    state: AttemptState | undefined,
    parts: AttemptParts,
    limit: TimeLimit | undefined,
  ) {
    this.#work = work
    this.state = state
    this.#parts = parts
    this.#limit = limit
  }

  get log(): Logger {
    const { partition, offset } = this.#work
    return withFields(this.#parts.logger, {
      topic: partition.topic,
      partition: partition.partition,
      offset,
    })
  }

  get signal(): AbortSignal {
    const { signal } = this.#work.partition
    this.#signal ??= this.#limit?.signal(signal) ?? signal
    return this.#signal
  }

  get stopping(): AbortSignal {
    return this.#work.partition.closing
  }

  get clock(): Clock {
    return this.#parts.clock
  }

  // Not a method: handlers take it out of the context.
  get count(): HandlerContext['count'] {
    return (name, by = 1) => this.#parts.count(name, by)
  }

  get waiting(): HandlerContext['waiting'] {
    return (what) => this.#parts.waiting(what)
  }

  get gauge(): HandlerContext['gauge'] {
    return (name, value) => this.#parts.gauge(name, value)
  }
}
