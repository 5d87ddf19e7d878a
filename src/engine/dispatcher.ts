import { type ErrorCode, errorText, PolluxError } from '../errors.ts'
import type { Message } from '../message.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import { type Logger, withFields } from '../ports/logger.ts'
import type { HandlerContext, Service } from '../service.ts'
import type { Lanes } from './lanes.ts'
import { asSentence, decodeMessage, lookAt } from './message.ts'
import type { Work } from './partition.ts'
import { AttemptState, type StateCells } from './state-cells.ts'

/** What becomes of an attempt. All are called before the next message of the lane starts. */
export interface Outcomes {
  /** The records of what a handler returned. Throws when it cannot be sent: the attempt has failed then. */
  encode(work: Work, returned: unknown): readonly OutgoingRecord[]
  /** Must not throw. */
  finished(work: Work, outputs: readonly OutgoingRecord[]): void
  /** Must not throw. */
  failed(work: Work, error: PolluxError): void
  /** There is nothing left that could start now. */
  startedAll(): void
}

// How long handlers that never wait may hold the event loop before timers, signals and sockets get their turn.
const longestTurn = 20

/** Starts handlers: as many at once as `concurrency` allows, in the order that `Lanes` gives. */
export class Dispatcher {
  readonly #service: Service
  readonly #lanes: Lanes
  readonly #cells: StateCells | undefined
  readonly #outcomes: Outcomes
  readonly #clock: Clock
  readonly #logger: Logger
  #running = 0
  #turnStart: number | undefined
  #hasYielded = false
  #isDispatching = false

  constructor(parts: {
    readonly service: Service
    readonly lanes: Lanes
    readonly cells: StateCells | undefined
    readonly outcomes: Outcomes
    readonly clock: Clock
    readonly logger: Logger
  }) {
    this.#service = parts.service
    this.#lanes = parts.lanes
    this.#cells = parts.cells
    this.#outcomes = parts.outcomes
    this.#clock = parts.clock
    this.#logger = parts.logger
  }

  /** Starts what may start now. Cheap to call when there is nothing. */
  dispatch(): void {
    // A handler that returns at once ends up here again; the loop below goes on with the next message anyway.
    if (this.#isDispatching) return
    this.#isDispatching = true
    while (this.#running < this.#service.options.concurrency && !this.#mustYield()) {
      const work = this.#lanes.next()
      if (work === undefined) {
        this.#outcomes.startedAll()
        break
      }
      this.#start(work)
    }
    this.#isDispatching = false
  }

  /** As `dispatch`, from a caller that has a turn of the event loop of its own. */
  dispatchNow(): void {
    if (this.#turnStart !== undefined) this.#turnStart = this.#clock.now()
    this.dispatch()
  }

  /** True when the event loop has been ours for too long; dispatching then goes on in the next turn. */
  #mustYield(): boolean {
    const now = this.#clock.now()
    if (this.#turnStart === undefined) {
      this.#turnStart = now
      this.#clock.after(0, () => this.#nextTurn())
    }
    this.#hasYielded = now - this.#turnStart > longestTurn
    return this.#hasYielded
  }

  #nextTurn(): void {
    this.#turnStart = undefined
    if (!this.#hasYielded) return
    this.#hasYielded = false
    this.dispatch()
  }

  #start(work: Work): void {
    this.#running += 1
    work.partition.inFlight += 1
    const state = this.#cells === undefined ? undefined : this.#stateOf(work, this.#cells)
    let returned: unknown
    let isPending: boolean
    try {
      returned = this.#attempt(work, state)
      isPending = isThenable(returned)
    } catch (error) {
      return this.#fail(work, state, error)
    }
    if (!isPending) return this.#succeed(work, state, returned)
    this.#lanes.enter(work)
    // Not its own `then`: a thenable that is no promise may call back twice, at once, or throw.
    Promise.resolve(returned).then(
      (value) => this.#succeed(work, state, value),
      (error: unknown) => this.#fail(work, state, error),
    )
  }

  #stateOf(work: Work, cells: StateCells): AttemptState | undefined {
    const { state: codec } = this.#service
    return codec === undefined ? undefined : new AttemptState(cells, codec, work)
  }

  #attempt(work: Work, state: AttemptState | undefined): unknown {
    const message = decodeMessage(work.raw, work.partition.definition)
    return message instanceof Promise
      ? message.then((decoded) => this.#handle(work, decoded, state))
      : this.#handle(work, message, state)
  }

  #handle(work: Work, message: Message, state: AttemptState | undefined): unknown {
    return this.#service.handle(message as never, new Context(work, state, this.#logger) as never)
  }

  #succeed(work: Work, state: AttemptState | undefined, returned: unknown): void {
    let outputs: readonly OutgoingRecord[]
    try {
      outputs = this.#outcomes.encode(work, returned)
      state?.keep()
    } catch (error) {
      return this.#fail(work, state, error)
    }
    this.#outcomes.finished(work, outputs)
    this.#end(work)
  }

  #fail(work: Work, state: AttemptState | undefined, cause: unknown): void {
    state?.drop()
    this.#outcomes.failed(work, failureOf(work, cause))
    this.#end(work)
  }

  #end(work: Work): void {
    this.#running -= 1
    work.letGoOfBytes()
    this.#lanes.leave(work)
    this.dispatch()
  }
}

function isThenable(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

// These say already which message is at fault, and whose fault it is.
const told: readonly ErrorCode[] = [
  'POLLUX_DECODE_FAILED',
  'POLLUX_ENCODE_FAILED',
  'POLLUX_OUTPUT_UNDECLARED',
  'POLLUX_OUTPUT_REFUSED',
  'POLLUX_STATE_UNAVAILABLE',
  'POLLUX_STORE_FAILED',
]

function failureOf(work: Work, cause: unknown): PolluxError {
  if (PolluxError.is(cause) && told.includes(cause.code)) return cause
  const { topic, partition } = work.partition
  return new PolluxError(
    'POLLUX_HANDLER_FAILED',
    `The handler of ${work} failed: ${asSentence(errorText(cause))}`,
    {
      hint: `POLLUX_DEBUG=1 shows the stack. ${lookAt({ topic, partition, offset: work.offset })}`,
      cause,
    },
  )
}

class Context implements HandlerContext {
  readonly state: AttemptState | undefined
  readonly #work: Work
  readonly #logger: Logger

  constructor(work: Work, state: AttemptState | undefined, logger: Logger) {
    this.#work = work
    this.state = state
    this.#logger = logger
  }

  get log(): Logger {
    const { partition, offset } = this.#work
    return withFields(this.#logger, {
      topic: partition.topic,
      partition: partition.partition,
      offset,
    })
  }

  get signal(): AbortSignal {
    return this.#work.partition.signal
  }
}
