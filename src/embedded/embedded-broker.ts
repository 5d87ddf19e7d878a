import type { Duration } from '../duration.ts'
import { shown } from '../errors.ts'
import {
  checkMethods,
  checkObject,
  duration,
  integer,
  type OptionTable,
  Problems,
  readOptions,
} from '../options.ts'
import type {
  Broker,
  BrokerAdmin,
  BrokerProducer,
  BrokerReader,
  GroupListener,
  GroupMember,
  Position,
  Subscription,
  TransactionalProducer,
} from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import { systemClock } from '../system-clock.ts'
import { BatchWriter } from './batch-writer.ts'
import { EmbeddedAdmin } from './embedded-admin.ts'
import { EmbeddedMember } from './embedded-member.ts'
import { EmbeddedProducer } from './embedded-producer.ts'
import { EmbeddedReader } from './embedded-reader.ts'
import { EmbeddedTransactionalProducer } from './embedded-transactional-producer.ts'
import type { LogStorage } from './log-storage.ts'
import { MemoryLog } from './memory-log.ts'
import { checkPositions } from './positions.ts'
import { closedError, knownTopics, unknownTopics } from './refusals.ts'
import { trimTopics } from './retention.ts'
import { SessionKeeper } from './session-keeper.ts'
import { SqliteLog } from './sqlite-log.ts'

/** What `embeddedBroker` takes. */
export interface EmbeddedBrokerOptions {
  /**
   * Keeps everything in this folder, made when missing; several processes may use it at once. Default: memory, gone
   * with the process.
   */
  readonly folder?: string
  /** A memory to share: brokers that are given the same one form one cluster. Default: a memory of its own. */
  readonly memory?: MemoryLog
  /** Default: the machine's time. */
  readonly clock?: Clock
  readonly sessionTimeout?: Duration
  readonly maxRecordBytes?: number
}

/** The plain options, as read. */
export interface EmbeddedBrokerSettings {
  readonly sessionTimeout: number
  readonly maxRecordBytes: number
}

export const embeddedBrokerOptions: OptionTable<EmbeddedBrokerSettings> = {
  sessionTimeout: duration({
    default: '5s',
    min: '50ms',
    max: '1h',
    help:
      'How long a process of a shared folder may show no life before its partitions go to others. A process that has ' +
      'ended is noticed at once. Too low: a busy process loses its partitions. Too high: a hung one keeps them.',
  }),
  maxRecordBytes: integer({
    min: 1,
    max: 256 * 1024 ** 2,
    default: 1_048_576,
    help: 'The largest record taken: bytes of key, value and headers. The default is that of Kafka.',
  }),
}

// Beside those of the table.
const partNames = ['folder', 'memory', 'clock']

/**
 * A broker inside this process, for development, tests and small installations: topics, groups and offsets as Kafka
 * has them, without anything to install.
 * @throws POLLUX_OPTION_INVALID
 */
export function embeddedBroker(options: EmbeddedBrokerOptions = {}): Broker {
  checkObject('embeddedBroker()', options, 'none, or an object such as { folder }')
  const { folder, memory, clock = systemClock, ...plain } = options
  const problems = new Problems()
  const settings = readOptions(embeddedBrokerOptions, plain, problems, partNames)
  checkMethods('clock', clock, ['now', 'after', 'random'], 'a clock', problems)
  if (memory !== undefined && !((memory as unknown) instanceof MemoryLog))
    problems.add(`memory: expected one made by sharedMemory(), found ${shown(memory)}`)
  if (folder !== undefined && (typeof folder !== 'string' || folder === '')) {
    problems.add(`folder: expected a path, found ${shown(folder)}`)
  }
  if (folder !== undefined && memory !== undefined)
    problems.add('memory: expected none beside a folder')
  problems.throwIfAny('The embedded broker cannot start')
  const log = folder === undefined ? (memory ?? new MemoryLog()) : new SqliteLog(folder)
  return new EmbeddedBroker(log, clock, settings)
}

/** A memory for several brokers: `embeddedBroker({ memory })`. */
export function sharedMemory(): MemoryLog {
  return new MemoryLog()
}

class EmbeddedBroker implements Broker {
  readonly name: string
  readonly admin: BrokerAdmin
  readonly #log: LogStorage
  readonly #clock: Clock
  readonly #settings: EmbeddedBrokerSettings
  readonly #sessions: SessionKeeper
  readonly #members = new Set<EmbeddedMember>()
  readonly #others = new Set<EmbeddedProducer | EmbeddedTransactionalProducer | EmbeddedReader>()
  readonly #joining = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(log: LogStorage, clock: Clock, settings: EmbeddedBrokerSettings) {
    this.name = `embedded ${log.name}`
    this.#log = log
    this.#clock = clock
    this.#settings = settings
    this.#sessions = new SessionKeeper(log, settings.sessionTimeout)
    const expireEnded = (): Promise<void> => this.#sessions.expireEnded()
    this.admin = new EmbeddedAdmin({ log: () => this.#open(), clock, expireEnded })
  }

  async connect(): Promise<void> {
    await this.#open()
  }

  async join(subscription: Subscription, listener: GroupListener): Promise<GroupMember> {
    const log = await this.#open()
    checkSubscription(subscription)
    knownTopics(log.reads, subscription.topics)
    this.#sessions.start()
    const joining = this.#join(log, subscription, listener)
    this.#joining.add(joining)
    try {
      return await joining
    } finally {
      this.#joining.delete(joining)
    }
  }

  async producer(): Promise<BrokerProducer> {
    const log = await this.#open()
    const producer = new EmbeddedProducer(log, this.#writer(), (it) => this.#others.delete(it))
    this.#others.add(producer)
    return producer
  }

  async transactionalProducer(id: string): Promise<TransactionalProducer> {
    const log = await this.#open()
    const producer = await EmbeddedTransactionalProducer.open({
      id,
      log,
      writer: this.#writer(),
      closed: (it) => this.#others.delete(it),
    })
    this.#others.add(producer)
    return producer
  }

  #writer(): BatchWriter {
    return new BatchWriter(this.#clock, this.#settings.maxRecordBytes)
  }

  async reader(from: readonly Position[]): Promise<BrokerReader> {
    const log = await this.#open()
    checkPositions(from)
    const topics = knownTopics(log.reads, [...new Set(from.map(({ topic }) => topic))])
    const counts = new Map(topics.map(({ name, partitions }) => [name, partitions]))
    const foreign = from.filter(
      ({ topic, partition }) => !(partition >= 0 && partition < (counts.get(topic) ?? 0)),
    )
    if (foreign.length > 0)
      throw unknownTopics(foreign.map(({ topic, partition }) => `${topic}/${partition}`))
    await trimTopics(log, topics, this.#clock.now())
    const reader = new EmbeddedReader(log, from, (it) => this.#others.delete(it))
    this.#others.add(reader)
    return reader
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#joining)
    // Members first: what they drain still goes through the producers.
    const left = await Promise.allSettled([...this.#members].map((member) => member.leave()))
    await Promise.all([...this.#others].map((one) => one.close()))
    try {
      await this.#sessions.stop()
    } finally {
      await this.#log.close()
    }
    for (const result of left) if (result.status === 'rejected') throw result.reason
  }

  async #open(): Promise<LogStorage> {
    if (this.#closing !== undefined) throw closedError(`The broker ${this.name}`)
    await this.#log.open()
    if (this.#closing !== undefined) throw closedError(`The broker ${this.name}`)
    return this.#log
  }

  async #join(
    log: LogStorage,
    subscription: Subscription,
    listener: GroupListener,
  ): Promise<GroupMember> {
    // Members that a killed process left behind would hold their partitions until the timeout.
    await this.#sessions.expireEnded()
    const member = await EmbeddedMember.join({
      log,
      subscription,
      listener,
      clock: this.#clock,
      session: this.#sessions.session,
      closed: (it) => this.#members.delete(it),
    })
    this.#members.add(member)
    return member
  }
}

/** @throws POLLUX_OPTION_INVALID */
function checkSubscription({ group, topics }: Subscription): void {
  const problems = new Problems()
  if (typeof group !== 'string' || group === '')
    problems.add(`group: expected a name, found ${shown(group)}`)
  if (topics.length === 0) problems.add('topics: expected at least one, found none')
  problems.throwIfAny('Nobody can join this way')
}
