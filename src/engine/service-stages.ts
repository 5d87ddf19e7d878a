import type { PolluxError } from '../errors.ts'
import type { RawMessage } from '../message.ts'
import { pause } from '../pause.ts'
import type {
  Broker,
  BrokerProducer,
  GroupMember,
  OutgoingRecord,
  Position,
  TransactionalProducer,
  TransactionResult,
} from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { LedgerPartition, Store, StoredOutputs, Unit } from '../ports/store.ts'
import type { RuntimeSettings } from '../runtime-options.ts'
import type { Service } from '../service.ts'
import { Admission } from './admission.ts'
import type { AttemptParts } from './attempt.ts'
import { Claims } from './claims.ts'
import { countOwn, type ServiceCounts, setGauge } from './counts.ts'
import type { Starter } from './dispatcher.ts'
import { type FailureStages, failureStages } from './failure-stages.ts'
import { Housekeeping } from './housekeeping.ts'
import { Lanes } from './lanes.ts'
import { LedgerWatch } from './ledger-watch.ts'
import { Loader, type LoaderParts } from './loader.ts'
import type { Outbox } from './outbox.ts'
import { encodeOutputs, encodeScheduled } from './outputs.ts'
import { Effects, type Partition, Work } from './partition.ts'
import {
  directPipeline,
  type Ends,
  type Pipeline,
  publishLeft,
  publishThenStore,
  type StoreStages,
  storeThenPublish,
  transactionPipeline,
} from './pipeline.ts'
import { refusalOf } from './publisher.ts'
import { Scheduler } from './scheduler.ts'
import { type StarterParts, starterOf } from './starters.ts'
import { StateCells } from './state-cells.ts'
import type { Waits } from './waits.ts'

/** What the stages need of their surroundings. */
export interface ServiceStagesParts {
  readonly service: Service
  readonly producer: BrokerProducer
  readonly store: Store | undefined
  readonly settings: RuntimeSettings
  readonly clock: Clock
  readonly logger: Logger
  readonly waits: Waits
  readonly counts: ServiceCounts
  readonly ends: Ends
  /** Those that are ours now. */
  partitions(): readonly Partition[]
  startedAll(): void
  /** Repeats what the store cannot do now. */
  patiently<T>(what: string, action: () => Promise<T>): Promise<T>
  /** Aborted once a stop was asked for. */
  readonly stopping: AbortSignal
  /** Names this process; undefined when nothing does. */
  readonly instance: string | undefined
}

/**
 * What a message of a service goes through, stage by stage: fetched → loaded → admitted → handled → its pipeline. This
 * file only joins the stages; each is a file of its own.
 */
export class ServiceStages {
  readonly #parts: ServiceStagesParts
  readonly lanes: Lanes
  readonly starter: Starter
  /** Undefined when outputs are not stored. */
  readonly outbox: Outbox | undefined
  readonly #pipeline: Pipeline
  readonly #cells = new StateCells()
  readonly #failures: FailureStages
  readonly #loader: Loader | undefined
  readonly #admission: Admission | undefined
  readonly #watch: LedgerWatch | undefined
  readonly #scheduler: Scheduler | undefined
  #turn = 0
  #housekeeping: Housekeeping | undefined
  #transactional: TransactionalProducer | undefined
  #member: () => GroupMember | undefined = () => undefined

  constructor(parts: ServiceStagesParts) {
    this.#parts = parts
    const { service, store, settings } = parts
    const { order } = service.options
    const keepsByKey = service.state !== undefined || service.idempotency?.by === 'version'
    this.lanes = new Lanes(order, keepsByKey)
    this.#failures = failureStages(parts, this.lanes, () => this.starter.dispatch())
    if (store === undefined) {
      this.#pipeline = this.#storeless()
      this.starter = this.#starterOf(undefined)
      return
    }
    const stages = this.#storeStages(store)
    this.#pipeline = stages
    this.outbox = stages.outbox
    this.#watch = this.#makeWatch(store, stages)
    this.#loader = this.#makeLoader(store)
    this.#scheduler = this.#makeScheduler()
    this.#admission = new Admission({
      lanes: this.lanes,
      loader: this.#loader,
      claims: new Claims(settings.bufferMessages, (work) => this.#resume(work)),
    })
    this.starter = this.#starterOf({ store, stages, admission: this.#admission })
  }

  /** Takes up what needs the broker or the store by itself. */
  async open(broker: Broker, member: () => GroupMember | undefined): Promise<void> {
    const { service, store, clock, logger } = this.#parts
    this.#member = member
    if (service.options.publish === 'transaction')
      this.#transactional = await broker.transactionalProducer?.(
        transactionalId(service, broker, clock),
      )
    if (store === undefined) return
    this.#housekeeping = new Housekeeping({
      service,
      store,
      admin: broker.admin,
      clock,
      logger,
      sweep: (partitions) => this.#sweep(store, partitions),
    })
    this.#housekeeping.start()
    this.#watch?.start()
  }

  /** The store works again after trouble, and may be another one now. */
  recovered(): void {
    this.#watch?.look()
  }

  async close(): Promise<void> {
    this.#housekeeping?.stop()
    this.#watch?.stop()
    this.#scheduler?.stop()
    this.#failures.outage.stop()
    this.outbox?.stop()
    await this.#transactional?.close()
  }

  /** A record was fetched. */
  take(raw: RawMessage, partition: Partition): Work {
    if (this.#loader === undefined) return new Work(raw, partition)
    this.#turn += 1
    const work = new Work(raw, partition, new Effects(this.#turn))
    this.#loader.add(work)
    return work
  }

  /** A partition is ours from now on. */
  add(partition: Partition, left: readonly StoredOutputs[], position: number): void {
    partition.forgotten = (work) => this.#forget(work)
    this.lanes.add(partition)
    // Nothing may come that would start it.
    if (this.#scheduler !== undefined) queueMicrotask(() => this.starter.dispatch())
    if (left.length === 0) return
    const outputs = left.reduce((sum, { records }) => sum + records.length, 0)
    this.#parts.counts.recovered += outputs
    this.#parts.logger.info(
      { partition: String(partition), outputs },
      'publishing what was stored and not acknowledged',
    )
    this.outbox?.recover(partition, left, position)
  }

  /** A partition has ended. */
  remove(partition: Partition): void {
    this.lanes.remove(partition)
    this.#scheduler?.removed(partition)
  }

  /** One that was begun, and waited to be handled again, still counts as work. */
  #forget(work: Work): void {
    // It will never finish here: what is committed without a gap ends in front of it.
    this.stopAt(work)
    if (work.isBegun) this.#parts.ends.dropped(work)
    else this.#loader?.giveBack(work)
  }

  /** Nothing built on this message may be stored. */
  discard({ effects }: Work): void {
    if (effects?.change !== undefined && effects.cell !== undefined)
      this.#cells.invalidate(effects.cell)
  }

  /** Their handlers are to be called again, all of them before any later message of their lanes. */
  again(works: readonly Work[]): void {
    for (const work of works) {
      if (work.effects !== undefined) work.effects.change = undefined
      this.lanes.again(work)
    }
    // Only once all are back, as it lets copies start.
    for (const work of works) this.#admission?.unclaim(work)
    this.starter.dispatch()
  }

  /** A started message is over, one way or the other. */
  leave(work: Work, isCommitted: boolean): void {
    work.letGoOfBytes()
    this.#admission?.leave(work, isCommitted)
  }

  /** This message does not finish here: it has failed, or is left to the next owner. */
  stopAt(work: Work): void {
    this.#pipeline.stopAt?.(work)
  }

  #resume(work: Work): void {
    this.lanes.resume(work)
    this.starter.dispatch()
  }

  get #attempts(): AttemptParts {
    const { service, logger, clock, counts, waits } = this.#parts
    return {
      service,
      logger,
      clock,
      encode: (work, returned) => this.#encode(work, returned),
      stale: () => {
        counts.stale += 1
      },
      worked: () => this.#failures.outage.worked(),
      count: (name, by) => countOwn(counts, name, by),
      waiting: (what) => waits.begin(what),
      gauge: (name, value) => setGauge(counts, name, value),
    }
  }

  #encode(work: Work, returned: unknown): readonly OutgoingRecord[] {
    return this.#checked(encodeOutputs(this.#parts.service, work, returned))
  }

  #checked(outputs: readonly OutgoingRecord[]): readonly OutgoingRecord[] {
    const problem = refusalOf(outputs, (record) => this.#failures.producer.check(record))
    if (problem !== undefined) throw problem
    return outputs
  }

  get #outcomes(): StarterParts['outcomes'] {
    const { ends, counts } = this.#parts
    return {
      finished: (work) => this.#pipeline.add(work),
      skipped: () => {
        counts.duplicates += 1
      },
      failed: (work, error) => this.#failures.retries.failed(work, error),
      dropped: (work) => ends.dropped(work),
      behind: (work) => this.lanes.again(work),
      again: (work) => ends.again([work]),
      startedAll: () => this.#parts.startedAll(),
    }
  }

  #starterOf(stored: StarterParts['stored']): Starter {
    return starterOf({
      ...this.#parts,
      attempts: this.#attempts,
      lanes: this.lanes,
      outage: this.#failures.outage,
      outcomes: this.#outcomes,
      recovered: () => this.recovered(),
      scheduler: this.#scheduler,
      stored,
    })
  }

  #makeScheduler(): Scheduler | undefined {
    const { service } = this.#parts
    const { schedule } = service
    if (schedule === undefined) return undefined
    return new Scheduler({
      ...this.#parts,
      schedule,
      encode: (partition, returned) => this.#checked(encodeScheduled(service, partition, returned)),
      dispatch: () => this.starter.dispatch(),
    })
  }

  #makeWatch(store: Store, { groupCommit }: StoreStages): LedgerWatch {
    const { service, ends, clock, partitions } = this.#parts
    return new LedgerWatch({
      partitions,
      holds: (rows) => store.holds(service.name, rows),
      groupCommit,
      overtaken: (lost) => ends.overtaken(lost, true),
      broken: (error) => ends.broken(error),
      clock,
    })
  }

  #load(store: Store): LoaderParts['load'] {
    const { service, patiently } = this.#parts
    return (keys, marks) => patiently('reading state', () => store.load(service.name, keys, marks))
  }

  #makeLoader(store: Store): Loader {
    const { service, counts, ends } = this.#parts
    return new Loader({
      service,
      cells: this.#cells,
      load: this.#load(store),
      loaded: () => this.starter.dispatch(),
      resume: (work) => this.#resume(work),
      idMissing: () => {
        counts.idsMissing += 1
      },
      broken: (error) => ends.broken(error),
    })
  }

  #storeless(): Pipeline {
    const { service, ends, clock, stopping } = this.#parts
    const { publish, deadLetter: topic } = service.options
    if (publish !== 'transaction') return directPipeline(this.#failures.producer, ends)
    return transactionPipeline(
      {
        transact: (records, positions) => this.#transact(records, positions),
        pause: () => pause(clock, retryWait, stopping),
        letters: { topic, stopping },
      },
      ends,
    )
  }

  async #transact(
    records: readonly OutgoingRecord[],
    positions: readonly Position[],
  ): Promise<TransactionResult> {
    const member = this.#member()
    if (this.#transactional === undefined || member === undefined)
      throw new Error('a message was handled before the service was open')
    return await this.#transactional.transact(records, positions, member)
  }

  #storeStages(store: Store): StoreStages {
    const { service, ends, clock, settings, patiently } = this.#parts
    const parts = {
      service,
      producer: this.#failures.producer,
      ends,
      largestUnit: store.largestUnit,
      load: this.#load(store),
      giveUp: (work: Work, error: PolluxError) => this.#failures.retries.refused(work, error),
      commit: (unit: Unit) => patiently('committing to the store', () => store.commit(unit)),
    }
    if (service.options.publish !== 'outbox') return publishThenStore(parts)
    return storeThenPublish(parts, {
      clock,
      acknowledge: (partitions) => store.acknowledge(service.name, partitions),
      largest: settings.bufferBytes,
    })
  }

  async #sweep(store: Store, partitions: readonly LedgerPartition[]): Promise<void> {
    const { service, logger, counts } = this.#parts
    const rows = await store.acquire(service.name, partitions)
    for (const { topic, partition, epoch, unpublished } of rows) {
      const last = unpublished.at(-1)
      if (last === undefined) continue
      logger.warn(
        { topic, partition },
        'publishing what a partition has left that is gone for good',
      )
      const [refused] = await publishLeft(this.#failures.producer, unpublished)
      if (refused !== undefined) throw refused
      counts.recovered += unpublished.reduce((sum, { records }) => sum + records.length, 0)
      await store.acknowledge(service.name, [{ topic, partition, epoch, unit: last.unit }])
    }
  }
}

// How long a transaction that the group did not accept is not tried again: a rebalance is under way.
const retryWait = 100

/**
 * Two processes must not share one. Where a process has a name that lasts, its successor takes the id over and so ends at once
 * what the dead one has left open; otherwise that ends by the broker's time limit.
 */
function transactionalId({ name }: Service, { instanceId }: Broker, clock: Clock): string {
  return `${name}-${instanceId ?? clock.random().toString(36).slice(2)}`
}
