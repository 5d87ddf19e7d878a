import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { PolluxError } from '../errors.ts'
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
import type { Logger } from '../ports/logger.ts'
import { type AdminConnection, KafkaAdmin } from './admin.ts'
import type { ClientConfig, ClientConfigs } from './client-config.ts'
import {
  type ConnectedClient,
  type ConnectionContext,
  connectClient,
  construct,
  disconnectClient,
} from './connect-client.ts'
import {
  type Driver,
  type DriverClient,
  type DriverConsumer,
  type DriverProducer,
  type DriverTransactionalProducer,
  loadDriver,
} from './driver.ts'
import { closedError } from './errors.ts'
import { startPositions } from './lookups.ts'
import { KafkaMember } from './member.ts'
import type { KafkaPlainOptions } from './options.ts'
import { KafkaProducer } from './producer.ts'
import { KafkaReader } from './reader.ts'
import type { Secrets } from './secrets.ts'
import { TransactionClient } from './transaction-client.ts'
import { KafkaTransactionalProducer } from './transactional-producer.ts'
import { Wake } from './wake.ts'

// A member that leaves does not wait longer for what its group says.
const lookLimit = 1_000

interface Closable {
  close(): Promise<void>
}

/** A connection to Kafka. Made by `kafka`. */
export class KafkaBroker implements Broker {
  readonly name: string
  readonly admin: BrokerAdmin
  readonly #configs: ClientConfigs
  readonly #plain: KafkaPlainOptions
  readonly #closed = new AbortController()
  readonly #context: ConnectionContext
  readonly #members = new Set<Closable>()
  /** Producers and readers. */
  readonly #others = new Set<Closable>()
  readonly #admin: KafkaAdmin
  #base: Promise<Base> | undefined
  #closing: Promise<void> | undefined

  constructor(
    where: string,
    plain: KafkaPlainOptions,
    configs: ClientConfigs,
    secrets: Secrets,
    logger: Logger,
  ) {
    this.name = `kafka ${where}`
    this.#plain = plain
    this.#configs = configs
    this.#context = { where, logger, secrets, closed: this.#closed.signal }
    this.#admin = new KafkaAdmin(() => this.#connection(), this.#context)
    this.admin = this.#admin
    Object.defineProperty(this, inspect.custom, { value: () => `KafkaBroker { ${this.name} }` })
  }

  get instanceId(): string | undefined {
    return this.#plain.instanceId
  }

  async connect(): Promise<void> {
    await this.#connection()
  }

  async join(subscription: Subscription, listener: GroupListener): Promise<GroupMember> {
    const { driver, admin } = await this.#connection()
    await this.#admin.partitionsOf(subscription.topics)
    const context = { ...this.#context, logger: subscription.logger }
    const wake = new Wake()
    const callbacks: { member?: KafkaMember } = {}
    const config: ClientConfig = {
      ...this.#configs.consumer(subscription.group),
      queue_non_empty_cb: () => wake.signal(),
      rebalance_cb: (...given: Parameters<KafkaMember['callbacks']['rebalance']>) =>
        callbacks.member?.callbacks.rebalance(...given),
      offset_commit_cb: (...given: Parameters<KafkaMember['callbacks']['committed']>) =>
        callbacks.member?.callbacks.committed(...given),
    }
    const connected = await this.#client<DriverConsumer>(
      () => new driver.KafkaConsumer(config),
      context,
    )
    const member: KafkaMember = new KafkaMember({
      connected,
      wake,
      subscription,
      listener,
      context,
      sessionTimeout: this.#plain.sessionTimeout,
      pollLimit: this.#plain.pollLimit,
      starts: (consumer, partitions, signal) =>
        startPositions(consumer, admin, partitions, subscription.start, signal),
      isRebalancing: () => this.#isRebalancing(subscription.group),
      left: () => this.#members.delete(closable),
    })
    const closable = { close: () => member.leave() }
    callbacks.member = member
    this.#members.add(closable)
    member.subscribe()
    return member
  }

  /** By the group's own word; false when that is not to be had, and where the driver sees to it itself. */
  async #isRebalancing(group: string): Promise<boolean> {
    if (this.#plain.protocol === 'consumer') return false
    const asked = this.#admin.group(group).then(
      ({ state }) => state.endsWith('Rebalance'),
      () => false,
    )
    return await Promise.race([asked, sleep(lookLimit, false, { ref: false })])
  }

  async producer(): Promise<BrokerProducer> {
    const { driver } = await this.#connection()
    const config = this.#configs.producer()
    const connected = await this.#client<DriverProducer>(
      () => new driver.Producer(config),
      this.#context,
    )
    const producer: KafkaProducer = new KafkaProducer(
      connected,
      this.#context,
      this.#configs.maxRecordBytes,
      () => this.#others.delete(producer),
    )
    this.#others.add(producer)
    return producer
  }

  async transactionalProducer(id: string): Promise<TransactionalProducer> {
    const { driver } = await this.#connection()
    const producer: KafkaTransactionalProducer = await KafkaTransactionalProducer.open({
      id,
      context: this.#context,
      maxBytes: this.#configs.maxRecordBytes,
      timeout: this.#configs.transactionTimeout,
      open: (context) => this.#transactionClient(driver, id, context),
      closed: () => this.#others.delete(producer),
    })
    this.#others.add(producer)
    if (this.#closing === undefined) return producer
    await producer.close()
    throw closedError(`The connection ${this.name}`)
  }

  async #transactionClient(
    driver: Driver,
    id: string,
    context: ConnectionContext,
  ): Promise<TransactionClient> {
    const connected = await this.#client<DriverTransactionalProducer>(
      () => new driver.Producer(this.#configs.transactional(id)),
      context,
    )
    const client = new TransactionClient(connected, context, this.#configs.maxRecordBytes)
    try {
      await client.init()
    } catch (error: unknown) {
      await client.close()
      throw error
    }
    return client
  }

  async reader(from: readonly Position[]): Promise<BrokerReader> {
    const { driver } = await this.#connection()
    await this.#admin.partitionsOf([...new Set(from.map(({ topic }) => topic))])
    const wake = new Wake()
    const config: ClientConfig = {
      ...this.#configs.reader(`pollux-reader-${process.pid}-${Date.now()}`),
      queue_non_empty_cb: () => wake.signal(),
    }
    const connected = await this.#client<DriverConsumer>(
      () => new driver.KafkaConsumer(config),
      this.#context,
    )
    const reader: KafkaReader = new KafkaReader(connected, wake, from, this.#context, () =>
      this.#others.delete(reader),
    )
    this.#others.add(reader)
    return reader
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    // Members first: while they give up their partitions, their owner sends and looks things up.
    await Promise.all([...this.#members].map((one) => one.close()))
    this.#closed.abort()
    await Promise.all([...this.#others].map((one) => one.close()))
    const base = await this.#base?.catch(() => undefined)
    if (base !== undefined) await disconnectClient(base.client, 5_000)
  }

  /** The client that lookups go through; made at the first need. */
  async #connection(): Promise<Base> {
    if (this.#closing !== undefined) throw closedError(`The connection ${this.name}`)
    this.#base ??= this.#openBase().catch((error: unknown) => {
      this.#base = undefined
      throw error
    })
    return await this.#base
  }

  async #openBase(): Promise<Base> {
    const driver = await loadDriver()
    // Shows what is wrong with any of the settings now, not when the first member joins.
    construct(() => new driver.KafkaConsumer(this.#configs.consumer('pollux-check')), this.#context)
    construct(() => new driver.Producer(this.#configs.producer()), this.#context)
    // A consumer, though it never joins: librdkafka ends the process when a client without a group looks up a group's
    // offsets and the broker asked is not, or not yet, that group's coordinator.
    const make = (): DriverConsumer =>
      new driver.KafkaConsumer({ ...this.#configs.admin(), 'group.id': 'pollux-lookups' })
    const { client } = await connectClient(make, this.#context, this.#plain.connectTimeout)
    return { driver, client, admin: driver.AdminClient.createFrom(client) }
  }

  /** Another client, once the first has shown that settings and account are right: outages are waited out. */
  async #client<Client extends DriverClient>(
    make: () => Client,
    context: ConnectionContext,
  ): Promise<ConnectedClient<Client>> {
    const isClosing = (): boolean => this.#closing !== undefined || context.closed.aborted
    for (;;) {
      try {
        const connected = await connectClient(make, context, this.#plain.connectTimeout)
        if (!isClosing()) return connected
        await disconnectClient(connected.client, 5_000)
      } catch (error: unknown) {
        if (!PolluxError.is(error, 'POLLUX_BROKER_UNREACHABLE')) throw error
      }
      if (isClosing()) throw closedError(`The connection ${this.name}`)
    }
  }

  toJSON(): object {
    return { name: this.name }
  }
}

interface Base extends AdminConnection {
  readonly driver: Driver
}
