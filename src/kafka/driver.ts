import { errorText, PolluxError } from '../errors.ts'
import type { ClientConfig } from './client-config.ts'

/** What a callback of the driver gets for an error. */
export interface DriverError extends Error {
  readonly code: number
  /** Said by calls of transactions: the same call is to be made again. */
  readonly isRetriable?: boolean
  /** The client cannot be used any more. */
  readonly isFatal?: boolean
}

type Callback<Value = unknown> = (error: DriverError | null | undefined, value: Value) => void

/** A partition as the driver knows it; the driver gives an Error in its place for a partition that failed. */
export interface DriverPosition {
  readonly topic: string
  readonly partition: number
  readonly offset?: number
  readonly metadata?: string | null | undefined
}

/** A record as the driver gives it. */
export interface DriverMessage {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers?: readonly Readonly<Record<string, Buffer>>[]
}

export interface DriverLog {
  readonly severity: number
  readonly fac: string
  readonly message: string
}

export interface DriverMetadata {
  readonly topics: readonly {
    readonly name: string
    readonly partitions: readonly { readonly id: number }[]
  }[]
}

/** What all clients of the driver can do. */
export interface DriverClient {
  on(event: 'event.log', listener: (log: DriverLog) => void): this
  on(event: 'event.error' | 'error', listener: (error: Error) => void): this
  on(
    event: 'delivery-report',
    listener: (error: DriverError | null, report: DriverReport) => void,
  ): this
  on(
    event: 'rebalance',
    listener: (error: DriverError, partitions: readonly DriverPosition[]) => void,
  ): this
  connect(options: { readonly timeout: number; readonly allTopics: boolean }, done: Callback): void
  disconnect(done: () => void): void
  getMetadata(
    options: { readonly topic?: string; readonly allTopics?: boolean; readonly timeout: number },
    done: Callback<DriverMetadata>,
  ): void
}

/** Why a record was not written. */
export interface DriverReport {
  readonly topic: string
  readonly partition: number
  readonly key: Buffer | null
  readonly value?: Buffer | null
  readonly timestamp?: number
}

export interface DriverProducer extends DriverClient {
  produce(
    topic: string,
    partition: number,
    value: Buffer | null,
    key: Buffer | null,
    timestamp?: number,
    opaque?: undefined,
    headers?: readonly Readonly<Record<string, Uint8Array>>[],
  ): void
  flush(timeout: number, done: (error: DriverError | null | undefined) => void): void
  setPollInterval(interval: number): void
}

/** A producer with a `transactional.id`. A call whose time is over goes on; the same call waits for it again. */
export interface DriverTransactionalProducer extends DriverProducer {
  initTransactions(timeout: number, done: Callback): void
  beginTransaction(done: Callback): void
  sendOffsetsToTransaction(
    positions: readonly DriverPosition[],
    consumer: DriverConsumer,
    timeout: number,
    done: Callback,
  ): void
  commitTransaction(timeout: number, done: Callback): void
  abortTransaction(timeout: number, done: Callback): void
}

export interface DriverConsumer extends DriverClient {
  setDefaultConsumeTimeout(ms: number): void
  subscribe(topics: readonly string[]): void
  unsubscribe(): void
  subscription(): readonly string[]
  consume(max: number, done: Callback<DriverMessage[]>): void
  assign(positions: readonly DriverPosition[]): void
  unassign(): void
  incrementalAssign(positions: readonly DriverPosition[]): void
  incrementalUnassign(partitions: readonly DriverPosition[]): void
  assignmentLost(): boolean
  pause(partitions: readonly DriverPosition[]): void
  resume(partitions: readonly DriverPosition[]): void
  seek(position: DriverPosition, timeout: number, done: Callback): void
  commit(positions: readonly DriverPosition[]): void
  committed(
    partitions: readonly DriverPosition[],
    timeout: number,
    done: Callback<readonly (DriverPosition | Error)[]>,
  ): void
}

export interface DriverOffset extends DriverPosition {
  readonly error?: DriverError
}

export interface DriverGroup {
  readonly groupId: string
  readonly error?: DriverError
  readonly state: number
  readonly members: readonly {
    readonly clientId: string
    readonly memberId: string
    readonly memberHost: string
    readonly assignment: { readonly topicPartitions: readonly DriverPosition[] }
  }[]
}

/** A described topic. */
export interface DriverTopic {
  readonly name: string
  readonly topicId: { readonly base64: string }
  readonly error?: DriverError
}

/** The driver's admin calls, on the connection of a client that exists. */
export interface DriverAdmin {
  createTopic(
    topic: {
      readonly topic: string
      readonly num_partitions: number
      readonly replication_factor: number
      readonly config?: Readonly<Record<string, string>>
    },
    timeout: number,
    done: Callback,
  ): void
  describeTopics(
    topics: readonly string[],
    options: { readonly timeout: number },
    done: Callback<readonly DriverTopic[]>,
  ): void
  listGroups(
    options: { readonly timeout: number },
    done: Callback<{ readonly groups: readonly { readonly groupId: string }[] }>,
  ): void
  describeGroups(
    groups: readonly string[],
    options: { readonly timeout: number },
    done: Callback<{ readonly groups: readonly DriverGroup[] }>,
  ): void
  listConsumerGroupOffsets(
    groups: readonly { readonly groupId: string }[],
    options: { readonly timeout: number },
    done: Callback<
      readonly { readonly error?: DriverError; readonly partitions: readonly DriverOffset[] }[]
    >,
  ): void
  listOffsets(
    positions: readonly {
      readonly topic: string
      readonly partition: number
      readonly offset: { readonly timestamp: number }
    }[],
    options: { readonly timeout: number; readonly isolationLevel: 0 | 1 },
    done: Callback<readonly DriverOffset[]>,
  ): void
}

/** The driver: `@confluentinc/kafka-javascript`, of which only the low-level classes are used. */
export interface Driver {
  readonly Producer: new (config: ClientConfig) => DriverTransactionalProducer
  readonly KafkaConsumer: new (config: ClientConfig) => DriverConsumer
  readonly AdminClient: { createFrom(client: DriverClient): DriverAdmin }
}

const packageName = '@confluentinc/kafka-javascript'
let loading: Promise<Driver> | undefined

/** Loads the driver once. @throws POLLUX_DRIVER_MISSING */
export function loadDriver(): Promise<Driver> {
  loading ??= importDriver(packageName).catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

/** Loads a driver by its package name; `loadDriver` for tests of what goes wrong. */
export async function importDriver(name: string): Promise<Driver> {
  try {
    const module = (await import(name)) as { readonly default: Driver }
    return module.default
  } catch (cause: unknown) {
    throw missing(name, cause)
  }
}

function missing(name: string, cause: unknown): PolluxError {
  const code = (cause as { readonly code?: unknown } | null)?.code
  if (code === 'ERR_MODULE_NOT_FOUND' && errorText(cause).includes(name)) {
    return new PolluxError('POLLUX_DRIVER_MISSING', `The Kafka client ${name} is not installed.`, {
      hint: `Install it: npm install ${name}`,
      cause,
    })
  }
  return new PolluxError('POLLUX_DRIVER_MISSING', `The native part of ${name} cannot be loaded.`, {
    found: firstSentence(errorText(cause)),
    hint:
      `Build it for this Node (${process.version}): npm rebuild ${name}, ` +
      'or in the repository of Pollux: npm run kafka:client. See docs/kafka.md.',
    cause,
  })
}

/** Without the list of places that the loader has tried, and without the full stop that is put after it. */
function firstSentence(text: string): string {
  const [line = ''] = text.split('\n')
  return line.replace(/\.?( Tried:)?$/, '').slice(0, 300)
}

/** A call of the driver as a promise. */
export function call<Value>(run: (done: Callback<Value>) => void): Promise<Value> {
  return new Promise((resolve, reject) => {
    run((error, value) => {
      if (error === null || error === undefined) resolve(value)
      else reject(error)
    })
  })
}
