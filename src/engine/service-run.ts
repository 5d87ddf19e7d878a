import { errorText, PolluxError } from '../errors.ts'
import type { Broker, BrokerProducer, GroupMember, Position } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import { type Logger, withFields } from '../ports/logger.ts'
import type { Store, StoredOutputs } from '../ports/store.ts'
import type { RuntimeSettings } from '../runtime-options.ts'
import type { Service } from '../service.ts'
import { Assignment } from './assignment.ts'
import type { ServiceCounts } from './counts.ts'
import { Drain } from './drain.ts'
import { Fetcher } from './fetcher.ts'
import { acquireLedger, fitToLogs } from './ledger.ts'
import { OffsetCommitter } from './offset-committer.ts'
import type { Partition, Work } from './partition.ts'
import { withPatience } from './patience.ts'
import type { Ends } from './pipeline.ts'
import { ServiceStages } from './service-stages.ts'
import { startAnew } from './start-anew.ts'
import { takeOver } from './take-over.ts'
import type { Waits } from './waits.ts'
import { checkWindow } from './window-check.ts'

// A unit on its way, the next one gathering, and two on their way to the broker. More than that lies about in memory,
// and is better left to the client, which has it outside the reach of the garbage collector.
const storedInWork = 4_000

/** What a service needs from its surroundings. */
export interface ServiceParts {
  readonly service: Service
  readonly broker: Broker
  readonly producer: BrokerProducer
  /** Given when the service needs one. */
  readonly store: Store | undefined
  readonly settings: RuntimeSettings
  readonly clock: Clock
  readonly logger: Logger
  readonly waits: Waits
  readonly counts: ServiceCounts
  /** A partition has stopped, or the whole service cannot go on. Called once or more. */
  readonly failed: (error: unknown) => void
}

/**
 * One service at work: its group membership, its partitions, and how it starts, stops and fails. What happens to a
 * message in between is in `service-stages.ts`.
 */
export class ServiceRun implements Ends {
  readonly #parts: ServiceParts
  readonly #logger: Logger
  readonly #stages: ServiceStages
  readonly #assignment: Assignment
  readonly #drain: Drain
  #hasLeftStore = false
  #member: GroupMember | undefined
  #fetcher: Fetcher | undefined
  #offsets: OffsetCommitter | undefined
  #starting: Promise<void> | undefined
  #fetching: Promise<void> | undefined

  constructor(parts: ServiceParts) {
    this.#parts = parts
    this.#logger = withFields(parts.logger, { service: parts.service.name })
    this.#drain = new Drain(parts.settings.drainTimeout, parts.clock)
    this.#stages = new ServiceStages({
      ...parts,
      logger: this.#logger,
      ends: this,
      partitions: () => this.#assignment.all,
      startedAll: () => this.#fetcher?.startedAll(),
      patiently: (what, action) => this.#patiently(what, action),
      stopping: this.#drain.stopping,
      instance: parts.broker.instanceId,
    })
    this.#assignment = this.#makeAssignment()
  }

  #makeAssignment(): Assignment {
    const { service, broker, store } = this.#parts
    const ledger = store !== undefined &&
      service.options.fencing && {
        store,
        admin: broker.admin,
        service: service.name,
        logger: this.#logger,
      }
    const policy = service.options.outsideReset
    const commit = (positions: readonly Position[]): Promise<void> => this.#commitFirst(positions)
    return new Assignment(
      service,
      {
        takeOver: ledger
          ? (assigned) =>
              this.#patiently('acquiring partitions', () =>
                takeOver({ ...ledger, policy, commit }, assigned),
              )
          : undefined,
        acquire: ledger
          ? (partitions) =>
              this.#patiently('acquiring partitions', async () =>
                fitToLogs(ledger, await acquireLedger(ledger, partitions)),
              )
          : undefined,
        added: (partition, left, position) => this.#added(partition, left, position),
        drain: (partitions) => this.#giveUp(partitions),
        removed: (partition) => this.#stages.remove(partition),
        broken: (error) => this.broken(error),
      },
      this.#logger,
    )
  }

  /** A commit for partitions that are just being assigned. A stop may have ended the membership: then nothing starts. */
  async #commitFirst(positions: readonly Position[]): Promise<void> {
    try {
      await this.#member?.commit(positions)
    } catch (error) {
      if (this.#fetcher?.isClosed !== true) throw error
      this.#logger.debug({ error: errorText(error) }, 'stopping while partitions are taken over')
    }
  }

  /** Joins the group and starts fetching. */
  start(): Promise<void> {
    this.#starting = this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    const { service, broker, clock } = this.#parts
    const topics = service.inputs.map(({ name }) => name)
    this.#assignment.topicIds = await broker.admin.topicIds(topics)
    await checkWindow(service, { admin: broker.admin, clock, logger: this.#logger })
    await this.#stages.open(broker, () => this.#member)
    const member = await broker.join(
      {
        group: service.name,
        topics,
        start: service.options.start,
        logger: this.#logger,
      },
      this.#assignment,
    )
    this.#member = member
    this.#offsets = this.#makeOffsets(member)
    this.#offsets.poke()
    this.#fetcher = this.#makeFetcher(member)
    this.#fetching = this.#fetcher.run().catch((error: unknown) => this.broken(error))
  }

  #makeOffsets(member: GroupMember): OffsetCommitter {
    return new OffsetCommitter({
      commit: (positions) => member.commit(positions),
      partitions: () => this.#assignment.all,
      interval: this.#parts.settings.commitInterval,
      clock: this.#parts.clock,
      logger: this.#logger,
    })
  }

  #makeFetcher(member: GroupMember): Fetcher {
    const { service, settings, clock, store } = this.#parts
    // While a batch is in work, the next one gathers.
    const gathering = Math.max(storedInWork, 2 * service.options.batch)
    const most = store === undefined ? settings.bufferMessages : gathering
    return new Fetcher({
      member,
      partitions: () => this.#assignment.all,
      find: this.#assignment.find,
      take: (raw, partition) => this.#stages.take(raw, partition),
      accepted: () => this.#stages.starter.dispatchNow(),
      bounds: {
        inWork: Math.min(settings.bufferMessages, most),
        messages: settings.bufferMessages,
        bytes: settings.bufferBytes,
      },
      clock,
    })
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
    await this.#stages.close()
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
    await this.#stages.outbox?.settle(partitions)
    await this.#offsets?.flush()
  }

  #added(partition: Partition, left: readonly StoredOutputs[], position: number): void {
    this.#stages.add(partition, left, position)
    if (this.#fetcher?.isClosed === true) {
      partition.close()
      this.#fetcher.pause(partition)
    }
    // A start position that is not the group's yet is committed first of all.
    this.#offsets?.poke()
  }

  finished(work: Work): void {
    this.#release(work, true)
    this.#offsets?.poke()
  }

  recovered(partition: Partition): void {
    partition.finishOne()
    // What is due by time waits for it.
    this.#stages.starter.dispatch()
    this.#offsets?.poke()
  }

  dropped(work: Work): void {
    this.#stages.discard(work)
    this.#release(work, false)
  }

  again(works: readonly Work[]): void {
    this.#parts.counts.repeated += works.length
    for (const work of works) {
      if (!work.partition.hasEnded) continue
      // Its handler may have ended just now, and others wait behind it.
      this.#stages.lanes.leave(work)
      this.dropped(work)
    }
    this.#stages.again(works.filter(({ partition }) => !partition.hasEnded))
  }

  #release(work: Work, isCommitted: boolean): void {
    this.#stages.leave(work, isCommitted)
    work.partition.finishOne()
    this.#fetcher?.release(work)
  }

  failed(work: Work, error: PolluxError): void {
    const { partition } = work
    // A handler that gave up because it was told to has not failed: its message is delivered again.
    if (partition.signal.aborted || this.#hasLeftStore) this.#drain.abandon(partition, 1)
    else this.#stop(partition, error, work.offset)
    this.handedBack(work)
  }

  handedBack(work: Work): void {
    this.#stages.stopAt(work)
    this.dropped(work)
  }

  stuck(partition: Partition, error: PolluxError): void {
    this.#stop(partition, error)
  }

  #stop(partition: Partition, error: PolluxError, offset?: number): void {
    if (partition.failure !== undefined) return
    partition.failure = error
    partition.close()
    const { code } = error
    this.#logger.error(
      { code, partition: String(partition), ...(offset === undefined ? {} : { offset }) },
      `partition stopped: ${error.message}`,
    )
    this.#parts.failed(error)
  }

  broken(error: unknown): void {
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

  async overtaken(partitions: readonly Partition[], isFenced: boolean): Promise<void> {
    this.#logger.warn(
      { partitions: partitions.map(String), isFenced },
      'the store has something else than this owner knows, starting anew',
    )
    await this.startAnew(partitions, isFenced)
  }

  takenBack(work: Work): void {
    // There is no next time here once a stop was asked for.
    this.#drain.abandon(work.partition, 1)
    this.dropped(work)
  }

  async startAnew(partitions: readonly Partition[], isFenced = false): Promise<void> {
    if (this.#member === undefined) return
    this.#parts.counts.restarts += partitions.length
    // What was acknowledged need not be published again.
    await this.#stages.outbox?.settle(partitions)
    const isStopping = (): boolean => this.#fetcher?.isClosed !== false
    try {
      await startAnew(partitions, { isFenced, isStopping }, this.#assignment, this.#member)
    } catch (error) {
      // A stop does not wait for it, and may have closed what it needs: their next owner takes them over.
      if (!isStopping()) throw error
      this.#logger.debug({ error: errorText(error) }, 'stopping while partitions start anew')
    }
  }

  async #patiently<T>(what: string, action: () => Promise<T>): Promise<T> {
    const { clock, waits } = this.#parts
    const signal = this.#drain.stopping
    const recovered = (): void => this.#stages.recovered()
    const parts = { clock, logger: this.#logger, signal, waits, recovered }
    try {
      return await withPatience(parts, what, action)
    } catch (error) {
      this.#hasLeftStore ||= signal.aborted && PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE')
      throw error
    }
  }
}
