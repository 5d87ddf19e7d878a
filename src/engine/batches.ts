import type { PolluxError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Attempt, AttemptParts } from './attempt.ts'
import { callForMany } from './batch-call.ts'
import { BatchRun } from './batch-run.ts'
import type { Batch, BatchSource } from './batch-source.ts'
import type { Outcomes, Starter } from './dispatcher.ts'
import type { Lanes } from './lanes.ts'
import type { Outage } from './outage.ts'
import type { Partition, Work } from './partition.ts'
import type { Fate } from './retries.ts'

/** What becomes of the messages of batches. None may throw. */
export interface BatchOutcomes
  extends Pick<Outcomes, 'finished' | 'skipped' | 'failed' | 'startedAll'> {
  /** It follows one of its partition that is not finished here, and is delivered again with it. */
  dropped(work: Work): void
  /** It follows one of its partition that is held: they are handled again, behind that one where it is of their lane. */
  behind(work: Work): void
}

/** What batches need of their surroundings. */
export interface BatchParts {
  readonly attempts: AttemptParts
  readonly source: BatchSource
  readonly lanes: Pick<Lanes, 'leave' | 'keyOf'>
  readonly outcomes: BatchOutcomes
  readonly outage: Pick<Outage, 'mayStart'>
  readonly clock: Clock
  broken(error: unknown): void
}

/** Runs handlers that take many messages: as many at once as `concurrency` allows, each with partitions of its own. */
export class Batches implements Starter {
  readonly #parts: BatchParts
  /** Those that a running call has messages of. */
  readonly #busy = new Set<Partition>()
  #running = 0
  #isDispatching = false

  constructor(parts: BatchParts) {
    this.#parts = parts
  }

  dispatch(): void {
    // A message that is skipped may let others start; the loop below goes on with them anyway.
    if (this.#isDispatching) return
    this.#isDispatching = true
    const { attempts, source, outcomes, outage } = this.#parts
    const { concurrency } = attempts.service.options
    while (this.#running < concurrency && outage.mayStart(this.#running)) {
      const batch = source.take(this.#busy)
      if (batch === undefined) {
        outcomes.startedAll()
        break
      }
      this.#start(batch)
    }
    this.#isDispatching = false
  }

  dispatchNow(): void {
    this.dispatch()
  }

  #start({ works, skipped }: Batch): void {
    for (const work of skipped) this.#skip(work)
    if (works.length === 0) return
    const partitions = new Set(works.map(({ partition }) => partition))
    for (const partition of partitions) this.#busy.add(partition)
    this.#running += 1
    void this.#run(works, partitions)
  }

  async #run(works: readonly Work[], partitions: ReadonlySet<Partition>): Promise<void> {
    const { attempts, lanes, clock, broken } = this.#parts
    try {
      await new BatchRun({
        attempts,
        call: (given) => callForMany(attempts, given),
        takesBack: false,
        isBroken: () => false,
        succeeded: (work, attempt) => this.#succeed(work, attempt),
        failed: (work, error) => this.#fail(work, error),
        dropped: (work) => this.#drop(work),
        behind: (work) => this.#parts.outcomes.behind(work),
        laneOf: (work) => lanes.keyOf(work),
        unfinished: (work) => this.#drop(work),
      }).run(works)
    } catch (error) {
      return broken(error)
    }
    this.#running -= 1
    for (const partition of partitions) this.#busy.delete(partition)
    // In a turn of its own: handlers that never wait would keep the event loop from everything else.
    clock.after(0, () => this.dispatch())
  }

  #skip(work: Work): void {
    const { outcomes } = this.#parts
    // It may have been handled before, in vain.
    work.outputs = []
    outcomes.skipped(work)
    outcomes.finished(work)
    this.#end(work)
  }

  #succeed(work: Work, attempt: Attempt): void {
    attempt.keep()
    this.#parts.outcomes.finished(work)
    this.#end(work)
  }

  #fail(work: Work, error: PolluxError): Fate {
    const { outcomes } = this.#parts
    const fate = outcomes.failed(work, error)
    if (fate === 'letter') outcomes.finished(work)
    if (fate !== 'held') this.#end(work)
    return fate
  }

  #drop(work: Work): void {
    this.#parts.outcomes.dropped(work)
    this.#end(work)
  }

  #end(work: Work): void {
    // With a store it may have to be handled again.
    if (work.effects === undefined) work.letGoOfBytes()
    this.#parts.lanes.leave(work)
  }
}
