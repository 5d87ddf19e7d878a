import type { PolluxError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Admission } from './admission.ts'
import { Attempt, type AttemptParts } from './attempt.ts'
import type { Lanes } from './lanes.ts'
import type { Outage } from './outage.ts'
import type { Work } from './partition.ts'
import type { Fate } from './retries.ts'

/** What becomes of messages. All are called before the next message of the lane starts, and none may throw. */
export interface Outcomes {
  /** Its handler succeeded, and what it returned is in `outputs`; or it was skipped. */
  finished(work: Work): void
  /** It is not handled, as its event had its effect already. */
  skipped(work: Work): void
  /** Its handler has failed; the value says what has become of it. */
  failed(work: Work, error: PolluxError): Fate
  /** Somebody else has changed the state that its handler was given: it is handled again. */
  again(work: Work): void
  /** There is nothing left that could start now. */
  startedAll(): void
}

/** Starts messages. */
export interface Starter {
  /** Starts what may start now. Cheap to call when there is nothing. */
  dispatch(): void
  /** As `dispatch`, from a caller that has a turn of the event loop of its own. */
  dispatchNow(): void
}

// How long handlers that never wait may hold the event loop before timers, signals and sockets get their turn.
const longestTurn = 20

/** Starts handlers: as many at once as `concurrency` allows, in the order that `Lanes` gives. */
export class Dispatcher implements Starter {
  readonly #attempts: AttemptParts
  readonly #lanes: Lanes
  readonly #admission: Admission | undefined
  readonly #outcomes: Outcomes
  readonly #outage: Pick<Outage, 'mayStart'>
  readonly #clock: Clock
  #running = 0
  #turnStart: number | undefined
  #hasYielded = false
  #isDispatching = false

  constructor(parts: {
    readonly attempts: AttemptParts
    readonly lanes: Lanes
    readonly admission: Admission | undefined
    readonly outcomes: Outcomes
    readonly outage: Pick<Outage, 'mayStart'>
    readonly clock: Clock
  }) {
    this.#attempts = parts.attempts
    this.#lanes = parts.lanes
    this.#admission = parts.admission
    this.#outcomes = parts.outcomes
    this.#outage = parts.outage
    this.#clock = parts.clock
  }

  dispatch(): void {
    // A handler that returns at once ends up here again; the loop below goes on with the next message anyway.
    if (this.#isDispatching) return
    this.#isDispatching = true
    const { concurrency } = this.#attempts.service.options
    while (
      this.#running < concurrency &&
      this.#outage.mayStart(this.#running) &&
      !this.#mustYield()
    ) {
      const work = this.#lanes.next()
      if (work === undefined) {
        this.#outcomes.startedAll()
        break
      }
      this.#start(work)
    }
    this.#isDispatching = false
  }

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
    const admission = this.#admission?.admit(work)
    if (admission === 'wait') return
    this.#running += 1
    work.begin()
    if (admission === 'skip') return this.#skip(work)
    const attempt = new Attempt(this.#attempts, work)
    let returned: unknown
    let isPending: boolean
    try {
      returned = attempt.run()
      isPending = isThenable(returned)
    } catch (error) {
      return this.#fail(work, attempt, error)
    }
    if (!isPending) return this.#succeed(work, attempt, returned)
    this.#lanes.enter(work)
    attempt.awaited(returned).then(
      (value) => this.#succeed(work, attempt, value),
      (error: unknown) => this.#fail(work, attempt, error),
    )
  }

  #skip(work: Work): void {
    // It may have been handled before, in vain.
    work.outputs = []
    this.#outcomes.skipped(work)
    this.#outcomes.finished(work)
    this.#end(work)
  }

  #succeed(work: Work, attempt: Attempt, returned: unknown): void {
    if (work.effects?.isOutdated === true) return this.#redo(work)
    try {
      attempt.end(returned)
    } catch (error) {
      return this.#fail(work, attempt, error)
    }
    attempt.keep()
    this.#outcomes.finished(work)
    this.#end(work)
  }

  #fail(work: Work, attempt: Attempt, cause: unknown): void {
    if (work.effects?.isOutdated === true) return this.#redo(work)
    const fate = this.#outcomes.failed(work, attempt.fail(cause))
    if (fate === 'held') {
      this.#running -= 1
      return this.dispatch()
    }
    if (fate === 'letter') this.#outcomes.finished(work)
    this.#end(work)
  }

  #redo(work: Work): void {
    this.#running -= 1
    this.#outcomes.again(work)
    this.dispatch()
  }

  #end(work: Work): void {
    this.#running -= 1
    // With a store it may have to be handled again.
    if (work.effects === undefined) work.letGoOfBytes()
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
