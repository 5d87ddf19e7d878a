import { errorText, PolluxError } from '../errors.ts'
import type { Broker, BrokerProducer, GroupMember } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import { type Logger, withFields } from '../ports/logger.ts'
import type { Store } from '../ports/store.ts'
import type { RuntimeSettings } from '../runtime-options.ts'
import type { Service } from '../service.ts'
import { Assignment } from './assignment.ts'
import { Dispatcher } from './dispatcher.ts'
import { Drain } from './drain.ts'
import { Fetcher } from './fetcher.ts'
import { GroupCommit } from './group-commit.ts'
import { Lanes } from './lanes.ts'
import { acquireLedger } from './ledger.ts'
import { OffsetCommitter } from './offset-committer.ts'
import { encodeOutputs } from './outputs.ts'
import type { Partition, Work } from './partition.ts'
import { withPatience } from './patience.ts'
import { Publisher } from './publisher.ts'
import { startAnew } from './start-anew.ts'
import { StateCells } from './state-cells.ts'

/** What a service needs from its surroundings. */
export interface ServiceParts {
  readonly service: Service
  readonly broker: Broker
  readonly producer: BrokerProducer
  /** Given when the service declares state. */
  readonly store: Store | undefined
  readonly settings: RuntimeSettings
  readonly clock: Clock
  readonly logger: Logger
  /** A partition has stopped, or the whole service cannot go on. Called once or more. */
  readonly failed: (error: unknown) => void
}

/**
 * One service at work: fetch → lanes → handle → publish → commit to the store → commit offsets. This file only joins
 * the stages; each is a file of its own.
 */
export class ServiceRun {
  readonly #parts: ServiceParts
  readonly #logger: Logger
  readonly #lanes: Lanes
  readonly #cells: StateCells | undefined
  readonly #dispatcher: Dispatcher
  readonly #publisher: Publisher
  readonly #groupCommit: GroupCommit | undefined
  readonly #assignment: Assignment
  readonly #drain: Drain
  #hasLeftStore = false
  #member: GroupMember | undefined
  #fetcher: Fetcher | undefined
  #offsets: OffsetCommitter | undefined
  #starting: Promise<void> | undefined
  #fetching: Promise<void> | undefined
  constructor(parts: ServiceParts) {
    const { service, clock, store } = parts
    this.#parts = parts
    this.#logger = withFields(parts.logger, { service: service.name })
    this.#drain = new Drain(parts.settings.drainTimeout, clock)
    this.#lanes = new Lanes(service.options.order, store !== undefined)
    this.#cells =
      store &&
      new StateCells((keys) =>
        this.#patiently('reading state', () => store.load(service.name, keys)),
      )
    this.#dispatcher = new Dispatcher({
      service,
      lanes: this.#lanes,
      cells: this.#cells,
      clock,
      logger: this.#logger,
      outcomes: {
        encode: (work, returned) => this.#encode(work, returned),
        finished: (work, outputs) => this.#publishOrSettle(work, outputs),
        failed: (work, error) => this.#fail(work, error),
        startedAll: () => this.#fetcher?.startedAll(),
      },
    })
    this.#publisher = new Publisher(parts.producer, {
      acknowledged: (work) => this.#commit(work),
      refused: (work, error) => this.#fail(work, error),
      broken: (error) => this.#break(error),
    })
    this.#groupCommit = store && this.#cells && this.#makeGroupCommit(store, this.#cells)
    this.#assignment = this.#makeAssignment(store)
  }

  #makeGroupCommit(store: Store, cells: StateCells): GroupCommit {
    return new GroupCommit({
      service: this.#parts.service.name,
      commit: (unit) => this.#patiently('committing to the store', () => store.commit(unit)),
      cells,
      commits: {
        settled: (work) => this.#finish(work),
        dropped: (work) => this.#drop(work),
        overtaken: (partitions, isFenced) => this.#startAnew(partitions, isFenced),
        broken: (error) => this.#break(error),
      },
    })
  }

  #makeAssignment(store: Store | undefined): Assignment {
    const { service, broker } = this.#parts
    const ledger = store && {
      store,
      admin: broker.admin,
      service: service.name,
      logger: this.#logger,
    }
    return new Assignment(
      service,
      {
        acquire:
          ledger &&
          ((partitions) =>
            this.#patiently('acquiring partitions', () => acquireLedger(ledger, partitions))),
        added: (partition) => this.#added(partition),
        drain: (partitions) => this.#giveUp(partitions),
        removed: (partition) => this.#lanes.remove(partition),
        broken: (error) => this.#break(error),
      },
      this.#logger,
    )
  }

  /** Joins the group and starts fetching. */
  start(): Promise<void> {
    this.#starting = this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    const { service, broker, settings, clock } = this.#parts
    const member = await broker.join(
      {
        group: service.name,
        topics: service.inputs.map(({ name }) => name),
        start: service.options.start,
        logger: this.#logger,
      },
      this.#assignment,
    )
    this.#member = member
    this.#offsets = new OffsetCommitter({
      commit: (positions) => member.commit(positions),
      partitions: () => this.#assignment.all,
      interval: settings.commitInterval,
      clock,
      logger: this.#logger,
    })
    this.#offsets.poke()
    this.#fetcher = new Fetcher({
      member,
      partitions: () => this.#assignment.all,
      find: this.#assignment.find,
      accepted: () => this.#dispatcher.dispatchNow(),
      bounds: { messages: settings.bufferMessages, bytes: settings.bufferBytes },
      clock,
    })
    this.#fetching = this.#fetcher.run().catch((error: unknown) => this.#break(error))
  }

  /** Messages that were started and whose work a stop cut off. */
  get abandoned(): number {
    return this.#drain.abandoned
  }

  /** Takes no new messages, and waits no longer for a store that cannot be reached. */
  stopFetching(): void {
    this.#drain.stop()
    this.#fetcher?.close()
  }

  /**
   * Finishes what is in work, and commits it.
   * @param howFar `running` forgets what was fetched and not started; `fetched` works it off, too.
   */
  async drain(howFar: 'running' | 'fetched'): Promise<void> {
    const partitions = this.#assignment.all
    if (howFar === 'running') for (const partition of partitions) partition.close()
    await this.#drainPartitions(partitions)
  }

  /** Ends all waiting: handlers are told to give up now. */
  hurry(): void {
    this.#drain.hurry()
  }

  /** Leaves the group; waits for a start that is under way. */
  async leave(): Promise<void> {
    await this.#starting?.catch(() => {})
    this.#offsets?.stop()
    this.#fetcher?.end()
    await this.#member?.leave()
    await this.#fetching
  }

  /**
   * Finishes what is running, and nothing else: the next owner waits. Were the partitions still open, a poll that is
   * pending could bring more after they have become idle, which would be handled while the last positions are on
   * their way, and handled again by the next owner.
   */
  async #giveUp(partitions: readonly Partition[]): Promise<void> {
    for (const partition of partitions) partition.close()
    await this.#drainPartitions(partitions)
  }

  async #drainPartitions(partitions: readonly Partition[]): Promise<void> {
    await this.#drain.finish(partitions)
    await this.#offsets?.flush()
  }

  #added(partition: Partition): void {
    this.#lanes.add(partition)
    if (this.#fetcher?.isClosed === true) {
      partition.close()
      this.#fetcher.pause(partition)
    }
    // A start position that is not the group's yet is committed first of all.
    this.#offsets?.poke()
  }

  #encode(work: Work, returned: unknown): ReturnType<typeof encodeOutputs> {
    const outputs = encodeOutputs(this.#parts.service, work.raw, returned)
    const problem = this.#publisher.check(outputs)
    if (problem !== undefined) throw problem
    return outputs
  }

  #publishOrSettle(work: Work, outputs: ReturnType<typeof encodeOutputs>): void {
    if (outputs.length > 0 || this.#groupCommit !== undefined) this.#publisher.add(work, outputs)
    else this.#commit(work)
  }

  #commit(work: Work): void {
    if (work.partition.hasEnded) return this.#drop(work)
    if (this.#groupCommit !== undefined) return this.#groupCommit.add(work)
    work.partition.tracker.settle(work.place)
    work.partition.durable = work.partition.tracker.position
    this.#finish(work)
  }

  /** Its effects are durable and its outputs acknowledged. */
  #finish(work: Work): void {
    this.#release(work)
    this.#offsets?.poke()
  }

  #release(work: Work): void {
    work.partition.finishOne()
    this.#fetcher?.release(work)
  }

  #drop(work: Work): void {
    if (work.change !== undefined) this.#cells?.invalidate(work.change.cell)
    this.#release(work)
  }

  /** Stops the partition in front of the message. */
  #fail(work: Work, error: Error): void {
    const { partition } = work
    // A handler that gave up because it was told to has not failed: its message is delivered again.
    if (partition.signal.aborted || this.#hasLeftStore) {
      this.#drain.abandon(partition, 1)
    } else if (partition.failure === undefined) {
      partition.failure = error
      partition.close()
      const { code } = error as PolluxError
      this.#logger.error(
        { code, partition: String(partition), offset: work.offset },
        `partition stopped: ${error.message}`,
      )
      this.#parts.failed(error)
    }
    this.#drop(work)
  }

  #break(error: unknown): void {
    if (this.#hasLeftStore && PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE')) {
      this.#logger.warn(
        { error: errorText(error) },
        'stopping without the store: what it did not take is delivered again',
      )
      return this.hurry()
    }
    this.#logger.error({ error: errorText(error) }, 'the service cannot go on')
    this.#parts.failed(error)
    this.hurry()
  }

  async #startAnew(partitions: readonly Partition[], isFenced: boolean): Promise<void> {
    if (this.#member === undefined) return
    this.#logger.warn(
      { partitions: partitions.map(String), isFenced },
      'state was changed by another owner, starting anew',
    )
    const isStopping = (): boolean => this.#fetcher?.isClosed !== false
    await startAnew(partitions, { isFenced, isStopping }, this.#assignment, this.#member)
  }

  async #patiently<T>(what: string, action: () => Promise<T>): Promise<T> {
    const signal = this.#drain.stopping
    try {
      return await withPatience(
        { clock: this.#parts.clock, logger: this.#logger, signal },
        what,
        action,
      )
    } catch (error) {
      this.#hasLeftStore ||= signal.aborted && PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE')
      throw error
    }
  }
}
