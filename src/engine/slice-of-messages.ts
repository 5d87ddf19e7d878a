import type { Clock } from '../ports/clock.ts'
import type { StoreTransaction } from '../ports/store.ts'
import type { Admission } from './admission.ts'
import { Attempt, type AttemptParts } from './attempt.ts'
import type { Outcomes } from './dispatcher.ts'
import type { Lanes } from './lanes.ts'
import type { Outage } from './outage.ts'
import type { Work } from './partition.ts'
import { type Filled, grant, type Slice, type SliceContents } from './slices.ts'

/** What they need of their surroundings. */
export interface SliceOfMessagesParts {
  readonly attempts: AttemptParts
  readonly lanes: Lanes
  readonly admission: Admission
  readonly outcomes: Pick<Outcomes, 'skipped' | 'failed'>
  readonly outage: Pick<Outage, 'mayStart'>
  readonly clock: Clock
}

// What a transaction may hold locks for: so many messages, or so long.
const largestSlice = 200
const longestSlice = 250

interface Next {
  readonly work: Work
  readonly isSkipped: boolean
}

/** Messages that are handled in a transaction one after the other, each behind a savepoint. */
export class SliceOfMessages implements SliceContents {
  readonly #parts: SliceOfMessagesParts

  constructor(parts: SliceOfMessagesParts) {
    this.#parts = parts
  }

  next(): Slice | undefined {
    const first = this.#next()
    return first && ((transaction) => this.#fill(transaction, first))
  }

  /** The next message that is to be handled or skipped, begun. */
  #next(): Next | undefined {
    const { lanes, admission, outage } = this.#parts
    if (!outage.mayStart(0)) return undefined
    for (let work = lanes.next(); work !== undefined; work = lanes.next()) {
      const admitted = admission.admit(work)
      if (admitted === 'wait') continue
      work.begin()
      // Held until its handler has ended, also where that waits for nothing.
      lanes.enter(work)
      return { work, isSkipped: admitted === 'skip' }
    }
    return undefined
  }

  async #fill(transaction: StoreTransaction, first: Next): Promise<Filled> {
    const { clock } = this.#parts
    const done: Work[] = []
    const start = clock.now()
    let next: Next | undefined = first
    while (next !== undefined) {
      if (next.isSkipped) this.#skip(next.work, done)
      else await this.#attempt(next.work, transaction, done)
      if (transaction.broken !== undefined) break
      const isFull = done.length >= largestSlice || clock.now() - start >= longestSlice
      next = isFull ? undefined : this.#next()
    }
    return { works: done }
  }

  #skip(work: Work, done: Work[]): void {
    this.#parts.outcomes.skipped(work)
    done.push(work)
    this.#end(work)
  }

  async #attempt(work: Work, transaction: StoreTransaction, done: Work[]): Promise<void> {
    const { attempts, outcomes } = this.#parts
    let attempt: Attempt | undefined
    try {
      await transaction.attempt(async (capability) => {
        attempt = new Attempt(attempts, work, grant(attempts.service.uses, capability))
        attempt.end(await attempt.awaited(attempt.run()))
      })
      attempt?.keep()
      done.push(work)
    } catch (cause) {
      // The transaction's end is not this message's fault: it is done again like the others.
      if (transaction.broken !== undefined) {
        attempt?.fail(cause)
        done.push(work)
      } else {
        const fate = outcomes.failed(work, (attempt ?? new Attempt(attempts, work)).fail(cause))
        if (fate === 'held') return
        if (fate === 'letter') done.push(work)
      }
    }
    this.#end(work)
  }

  #end(work: Work): void {
    this.#parts.lanes.leave(work)
  }
}
