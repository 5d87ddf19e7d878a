import { errorText, PolluxError } from '../errors.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { StoreTransaction } from '../ports/store.ts'
import type { Schedule, ScheduledContext } from '../schedule.ts'
import type { Service } from '../service.ts'
import { countOwn, type ServiceCounts, setGauge } from './counts.ts'
import { asSentence } from './message.ts'
import type { Partition } from './partition.ts'
import { type Filled, grant, type Slice, type SliceContents } from './slices.ts'
import type { Waits } from './waits.ts'

/** What a scheduler needs of its surroundings. */
export interface SchedulerParts {
  readonly service: Service
  readonly schedule: Schedule
  /** Those that are ours now. */
  partitions(): readonly Partition[]
  /** The records of what a run returned for the next unit of this partition. Throws when they cannot be sent. */
  encode(partition: Partition, returned: unknown): readonly OutgoingRecord[]
  /** A run may be due. */
  dispatch(): void
  readonly clock: Clock
  readonly logger: Logger
  readonly waits: Waits
  readonly counts: ServiceCounts
  /** Aborted once a stop was asked for. */
  readonly stopping: AbortSignal
}

/**
 * Runs what a service has to do by time, while the first input's partition 0 is ours: at once when it has become ours and
 * what was left is published, then at each turn. Each run has a transaction, which is committed under the partition's row
 * in the ledger: a run of a former owner comes to nothing.
 */
export class Scheduler implements SliceContents {
  readonly #parts: SchedulerParts
  /** Whose runs these are. Another assignment of the same partition begins anew. */
  #partition: Partition | undefined
  /** When the next run may begin; undefined: as soon as what was left is published. */
  #due: number | undefined
  #cancel: (() => void) | undefined
  #endWait: (() => void) | undefined

  constructor(parts: SchedulerParts) {
    this.#parts = parts
  }

  next(): Slice | undefined {
    const partition = this.#owned()
    if (partition === undefined || !this.#isDue(partition)) return undefined
    partition.inFlight += 1
    return (transaction) => this.#run(transaction, partition)
  }

  #isDue(partition: Partition): boolean {
    const { stopping, clock } = this.#parts
    if (partition.isClosed || stopping.aborted) return false
    if (this.#due === undefined) return !partition.unpublished.some(isLeft)
    const now = clock.now()
    // Timers may be early by a moment.
    if (now < this.#due && this.#cancel === undefined) this.#wakeAt(this.#due, now)
    return now >= this.#due
  }

  /** Ends the schedule. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#endWaiting()
  }

  /** A partition is not ours any more. */
  removed(partition: Partition): void {
    if (partition !== this.#partition) return
    this.#partition = undefined
    this.stop()
  }

  #owned(): Partition | undefined {
    const [first] = this.#parts.service.inputs
    const owned = this.#parts
      .partitions()
      .find(({ topic, partition }) => partition === 0 && topic === first?.name)
    if (owned !== this.#partition) {
      this.#partition = owned
      this.#due = undefined
    }
    return owned
  }

  #wakeAt(due: number, now: number): void {
    const { clock, dispatch } = this.#parts
    this.#cancel?.()
    this.#cancel = clock.after(due - now, () => {
      this.#cancel = undefined
      dispatch()
    })
  }

  async #run(transaction: StoreTransaction, partition: Partition): Promise<Filled> {
    const { schedule, encode, clock, stopping } = this.#parts
    // While the transaction began, it was wanted back, or a stop was asked for.
    if (partition.isClosed || stopping.aborted) return done(partition)
    const now = clock.now()
    this.#due = now + schedule.every
    this.#wakeAt(this.#due, now)
    let isAgain = false
    const again = (): void => {
      isAgain = true
    }
    try {
      const outputs = await transaction.attempt(async (capability) =>
        encode(partition, await this.#call(partition, { now, again }, capability)),
      )
      if (partition === this.#partition && isAgain) this.#due = now
      this.#succeeds()
      return { works: [], own: { partition, outputs } }
    } catch (cause) {
      // The transaction's end is not its fault: it is done again, when the partition has started anew.
      if (transaction.broken !== undefined) return { works: [], own: { partition, outputs: [] } }
      if (!partition.signal.aborted) this.#fails(cause)
      return done(partition)
    }
  }

  async #call(
    { signal, closing: stopping }: Partition,
    given: Pick<ScheduledContext, 'now' | 'again'>,
    capability: unknown,
  ): Promise<unknown> {
    const { service, schedule, logger: log, clock, counts, waits } = this.#parts
    const count: ScheduledContext['count'] = (name, by = 1) => countOwn(counts, name, by)
    const waiting: ScheduledContext['waiting'] = (what) => waits.begin(what)
    const gauge: ScheduledContext['gauge'] = (name, value) => setGauge(counts, name, value)
    const own = { log, signal, stopping, clock, count, gauge, waiting }
    const context: ScheduledContext = { ...own, ...given }
    Object.assign(context, grant(service.uses, capability))
    return await schedule.run(context as never)
  }

  #fails(cause: unknown): void {
    const { logger, waits, counts } = this.#parts
    counts.failedRuns += 1
    if (this.#endWait !== undefined) return
    const error = new PolluxError(
      'POLLUX_HANDLER_FAILED',
      `A scheduled run failed, and comes again at its next turn: ${asSentence(errorText(cause))}`,
      { cause },
    )
    logger.error({ code: error.code }, error.message)
    this.#endWait = waits.begin('a schedule whose runs fail')
  }

  #succeeds(): void {
    if (this.#endWaiting()) this.#parts.logger.info({}, 'scheduled runs succeed again')
  }

  /** Whether there was anything to wait for. */
  #endWaiting(): boolean {
    const hasWaited = this.#endWait !== undefined
    this.#endWait?.()
    this.#endWait = undefined
    return hasWaited
  }
}

/** There is nothing to commit. */
function done(partition: Partition): Filled {
  partition.finishOne()
  return { works: [] }
}

/** Stored by a previous owner, as it belongs to no message that is in work. */
function isLeft({ works }: Partition['unpublished'][number]): boolean {
  return works.length === 0
}
