import type { Capability, Granted } from './capability.ts'
import type { Codec } from './codecs/codec.ts'
import { shown } from './errors.ts'
import { type Idempotency, type IdempotencyRule, readIdempotency } from './idempotency.ts'
import { checkMethods, checkObject, Problems, readOptions } from './options.ts'
import type { Clock } from './ports/clock.ts'
import type { Logger } from './ports/logger.ts'
import type { Resource } from './ports/resource.ts'
import { readRetry } from './retry.ts'
import { readSchedule, type Schedule, type ScheduleDefinition } from './schedule.ts'
import {
  defaultConcurrency,
  type ServiceOptions,
  type ServiceSettings,
  serviceOptions,
} from './service-options.ts'
import type { AnyTopic, MessageOf, OutputMessage } from './topic.ts'

/** A key's state, as a handler sees it. Changes count only if the handler succeeds. */
export interface State<S, Input = S> {
  /** The key's state, changes of this handler and of earlier messages of the key included; undefined when there is none. */
  get(): Promise<S | undefined>
  /** Replaces the key's state. */
  put(value: Input): Promise<void>
  /** Removes the key's state. */
  delete(): Promise<void>
}

/** What a handler is given beside its message, or messages. Dead once the attempt has ended. */
export interface HandlerContext {
  /** Adds service, topic, partition and offset to each line; for a batch, the service alone. */
  readonly log: Logger
  /** Aborted when the partition, or one of the batch, is lost, or when stopping has waited long enough. Pass it on to what waits. */
  readonly signal: AbortSignal
  /**
   * Aborted as soon as the partition is to be given up, by a stop or to another member. Work that is under way goes on;
   * whoever only waits for a better time ends the wait and throws a `RetryableError`.
   */
  readonly stopping: AbortSignal
  /** Time and chance, which a test can hold: for waits, time limits and backoff. */
  readonly clock: Clock
  /** Adds to a number of `runtime.counts`. Names are few and fixed: never a key, an id or a text from outside. */
  readonly count: (name: string, by?: number) => void
  /**
   * Says that the handler waits for something that it cannot do without, such as another system: the process is not ready
   * until what it returns is called. `what` is one of a few fixed texts, too; it is shown in `readiness.waitingFor`.
   */
  readonly waiting: (what: string) => () => void
  /** Sets one that goes up and down: how much there is of something now. Names are few and fixed, too. */
  readonly gauge: (name: string, value: number) => void
}

/** `context` of a handler whose service declares `state`. */
export interface StatefulContext<S, Input> extends HandlerContext {
  readonly state: State<S, Input>
}

/** What a service asks its store for: the names that its handler finds in its context. */
export type Uses = Readonly<Record<string, Capability<unknown>>>

/** What a handler may return: messages of declared output topics, or nothing. */
export type Outputs<O extends AnyTopic> =
  | OutputMessage<O>
  | readonly OutputMessage<O>[]
  | undefined
  | void

/** What became of one message of a batch. */
export interface MessageResult<M, O extends AnyTopic> {
  /** The very object that the handler was given. */
  readonly message: M
  readonly outputs?: Outputs<O>
  /** Why it failed; undefined: it was handled. */
  readonly error?: unknown
}

/** What `handleMany` may return: what became of each message, or nothing when all were handled and there are no outputs. */
export type BatchResult<M, O extends AnyTopic> = readonly MessageResult<M, O>[] | undefined | void

/** What every definition has. */
interface CommonDefinition<
  I extends readonly AnyTopic[],
  O extends readonly AnyTopic[],
  U extends Uses,
> extends Omit<ServiceOptions, 'batch'> {
  readonly inputs: I
  readonly outputs?: O
  /**
   * What the handler needs of the store beyond `state`, e.g. `{ db: postgresTransaction }`: then it runs inside the unit's
   * transaction, one message or batch after the other.
   */
  readonly uses?: U
  /**
   * Work that is due by time, done by one member of the group: the owner of the first input's partition 0. Needs `uses`, as
   * it runs in a transaction of its own, between those of messages.
   */
  readonly schedule?: ScheduleDefinition<O, U>
  /** What is opened before the first message, checks included, and closed after the last one. For authors of patterns. */
  readonly opens?: readonly Resource[]
}

/** A service whose handler is given one message. */
interface OneAtATime<
  I extends readonly AnyTopic[],
  O extends readonly AnyTopic[],
  S,
  StateInput,
  U extends Uses,
> {
  /** The codec of the state of one key. Needs a store. */
  readonly state?: Codec<S, StateInput>
  /** What makes the second copy of a message harmless. Needs a store. Default `{ by: 'offset' }` where the service keeps something in one. */
  readonly idempotency?: Idempotency<MessageOf<I[number]>>
  readonly handle: (
    message: MessageOf<I[number]>,
    context: ([StateInput] extends [never] ? HandlerContext : StatefulContext<S, StateInput>) &
      Granted<U>,
  ) => Outputs<O[number]> | Promise<Outputs<O[number]>>
  readonly handleMany?: undefined
  readonly batch?: undefined
}

/** A service whose handler is given what has gathered. */
interface ManyAtATime<
  I extends readonly AnyTopic[],
  O extends readonly AnyTopic[],
  U extends Uses,
> {
  readonly state?: undefined
  /** What makes the second copy of a message harmless. Needs a store. Default `{ by: 'offset' }` where the service keeps something in one. */
  readonly idempotency?: Exclude<Idempotency<MessageOf<I[number]>>, { readonly by: 'version' }>
  readonly handle?: undefined
  /**
   * Is given up to `batch` messages, those of a partition in the order of fetching, several of one key among them. What it
   * throws makes it run again with halves, until the message at fault stands alone.
   */
  readonly handleMany: (
    messages: readonly [MessageOf<I[number]>, ...MessageOf<I[number]>[]],
    context: HandlerContext & Granted<U>,
  ) =>
    | BatchResult<MessageOf<I[number]>, O[number]>
    | Promise<BatchResult<MessageOf<I[number]>, O[number]>>
  readonly batch?: number
}

/** What `defineService` takes: with `handle` or with `handleMany`. */
export type ServiceDefinition<
  I extends readonly AnyTopic[],
  O extends readonly AnyTopic[],
  S,
  StateInput,
  U extends Uses,
> = CommonDefinition<I, O, U> & (OneAtATime<I, O, S, StateInput, U> | ManyAtATime<I, O, U>)

/** The unit of deployment, as a plain value: one consumer group. Made by `defineService`. */
export interface Service {
  /** The consumer group's name, too. */
  readonly name: string
  readonly inputs: readonly AnyTopic[]
  readonly outputs: readonly AnyTopic[]
  readonly state: Codec<unknown, unknown> | undefined
  /** Undefined when the service keeps nothing in a store: then delivery is at least once. */
  readonly idempotency: IdempotencyRule | undefined
  readonly uses: Uses
  /** It keeps something in a store, so it cannot run without one. */
  readonly needsStore: boolean
  readonly options: ServiceSettings
  /** Undefined when it is `handleMany` that handles. */
  readonly handle: ((message: never, context: never) => unknown) | undefined
  readonly handleMany: ((messages: never, context: never) => unknown) | undefined
  readonly schedule: Schedule | undefined
  readonly opens: readonly Resource[]
}

const legalName = /^[A-Za-z0-9._-]{1,200}$/

// Beside those of the table.
const definitionNames = [
  'inputs',
  'outputs',
  'state',
  'idempotency',
  'uses',
  'handle',
  'handleMany',
  'schedule',
  'opens',
  'retry',
]

/**
 * Declares a service. It starts nothing: `run` and `pollux run` do.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function defineService<
  const I extends readonly AnyTopic[],
  const O extends readonly AnyTopic[] = readonly [],
  S = never,
  StateInput = never,
  // biome-ignore lint/complexity/noBannedTypes: nothing is asked for
  const U extends Uses = {},
>(name: string, definition: ServiceDefinition<I, O, S, StateInput, U>): Service {
  checkObject('defineService()', definition, 'a name and { inputs: […], handle(message) { … } }')
  const problems = new Problems()
  const { inputs, outputs = [], state, idempotency, uses = {}, ...others } = definition
  const { handle, handleMany, schedule, opens = [], retry, ...rest } = others
  if (typeof name !== 'string' || !legalName.test(name)) {
    problems.add(
      `name: expected 1 to 200 of the characters a-z A-Z 0-9 . _ -, found ${shown(name)}`,
    )
  }
  checkHandlers(definition, problems)
  checkTopics('inputs', inputs, problems)
  checkTopics('outputs', outputs, problems)
  if (Array.isArray(inputs) && inputs.length === 0)
    problems.add('inputs: expected at least one topic, found none')
  checkUses(uses, problems)
  checkOpens(opens, problems)
  const read = readOptions(serviceOptions, rest, problems, definitionNames)
  const rule = idempotency === undefined ? undefined : readIdempotency(idempotency, problems)
  const needsStore =
    state !== undefined ||
    Object.keys(uses).length > 0 ||
    read.publish === 'outbox' ||
    (rule !== undefined && rule.by !== 'natural')
  const deadLetter = read.deadLetter === false ? undefined : (read.deadLetter ?? `${name}.dlq`)
  const isStored = needsStore && (read.fencing || outputs?.length > 0)
  const publish = read.publish ?? (isStored ? 'outbox' : 'direct')
  const service: Service = {
    name,
    inputs,
    outputs,
    state: state as Codec<unknown, unknown> | undefined,
    idempotency: rule ?? (needsStore ? { by: 'offset' } : undefined),
    uses,
    needsStore,
    options: {
      ...read,
      publish,
      deadLetter,
      retry: readRetry(retry, problems),
      concurrency:
        read.concurrency ?? defaultConcurrency[handleMany === undefined ? 'one' : 'many'],
    },
    handle: handle as Service['handle'],
    handleMany: handleMany as Service['handleMany'],
    schedule: readSchedule(schedule, problems),
    opens,
  }
  checkTogether(service, problems)
  problems.throwIfAny(`Service ${shown(name)} is wrong`)
  return service
}

/** One of the two handles, and `batch` goes with one of them. */
function checkHandlers(given: object, problems: Problems): void {
  const { handle, handleMany, batch } = given as Partial<Record<string, unknown>>
  if (handle !== undefined && handleMany !== undefined)
    return problems.add('handle: expected it or handleMany, found both')
  if (handleMany === undefined) {
    if (typeof handle !== 'function')
      problems.add(`handle: expected a function, found ${shown(handle)}`)
    if (batch !== undefined)
      problems.add('batch: expected none since handle is given one message at a time')
  } else if (typeof handleMany !== 'function') {
    problems.add(`handleMany: expected a function, found ${shown(handleMany)}`)
  }
}

/** What is right by itself and wrong with something else. */
function checkTogether(service: Service, problems: Problems): void {
  const { state, idempotency, uses, inputs, outputs, needsStore, handleMany, options } = service
  const { order, publish, fencing, outsideReset, deadLetter } = options
  if (state !== undefined && order !== 'key')
    problems.add(`order: expected 'key' since the service declares state, found '${order}'`)
  if (idempotency?.by === 'version' && order !== 'key')
    problems.add(`order: expected 'key' since versions are kept by key, found '${order}'`)
  if (handleMany !== undefined && state !== undefined)
    problems.add('state: expected none with handleMany: each message of a batch has another key')
  if (handleMany !== undefined && idempotency?.by === 'version')
    problems.add(
      "idempotency: expected 'offset', 'event-id' or 'natural' with handleMany, found 'version': versions are kept beside the state of a key",
    )
  if (publish === 'transaction' && needsStore) {
    problems.add(
      "publish: expected 'outbox' or 'direct' since the service uses a store, found 'transaction': Kafka's transactions and a store's cannot be one",
    )
  }
  if (publish === 'direct' && Object.keys(uses).length > 0 && outputs.length > 0) {
    problems.add(
      "publish: expected 'outbox' since the handler writes in the unit's transaction (uses), found 'direct': outputs would be out before it is known whether that commits",
    )
  } else if (publish === 'direct' && Object.keys(uses).length > 0 && deadLetter !== undefined) {
    problems.add(
      "deadLetter: expected false, or publish: 'outbox', since the handler writes in the unit's transaction (uses); found publish: 'direct'",
    )
  }
  if ([inputs, outputs].flat().some((topic) => topic?.name === deadLetter)) {
    problems.add(
      `deadLetter: expected a topic that is neither input nor output, found '${deadLetter}'`,
    )
  }
  if (service.schedule !== undefined && Object.keys(uses).length === 0)
    problems.add(
      'schedule: expected uses, such as { db: postgresTransaction }, as it runs in a transaction of the store; found none',
    )
  if (outsideReset === 'ledger' && !(needsStore && fencing)) {
    problems.add(
      "outsideReset: expected 'stop' or 'follow' since the service has no ledger, found 'ledger'",
    )
  }
  if (fencing) return
  if (service.schedule !== undefined)
    problems.add(
      'fencing: expected true with schedule, whose runs count only while its partition is ours, found false',
    )
  if (publish === 'outbox')
    problems.add(
      "fencing: expected true since publish is 'outbox', whose rows belong to the partition's owner, found false",
    )
  if (idempotency?.by === 'offset' || idempotency?.by === 'event-id')
    problems.add(
      `fencing: expected true since idempotency is by '${idempotency.by}', which is kept in the ledger, found false`,
    )
}

const contextNames = ['log', 'signal', 'stopping', 'clock', 'count', 'gauge', 'state']

function checkUses(uses: unknown, problems: Problems): void {
  if (typeof uses !== 'object' || uses === null)
    return problems.add(
      `uses: expected an object such as { db: postgresTransaction }, found ${shown(uses)}`,
    )
  for (const [name, asked] of Object.entries(uses)) {
    if (contextNames.includes(name))
      problems.add(`uses: expected another name than '${name}', which handlers have already`)
    if (typeof (asked as Partial<Capability<unknown>> | null)?.name !== 'string')
      problems.add(
        `uses.${name}: expected a capability such as postgresTransaction, found ${shown(asked)}`,
      )
  }
}

function checkOpens(opens: unknown, problems: Problems): void {
  if (!Array.isArray(opens)) return problems.add(`opens: expected an array, found ${shown(opens)}`)
  for (const resource of opens)
    checkMethods('opens', resource, ['open', 'close'], 'what can be opened and closed', problems)
}

function checkTopics(what: string, topics: unknown, problems: Problems): void {
  if (!Array.isArray(topics))
    return problems.add(`${what}: expected an array of topics, found ${shown(topics)}`)
  const seen = new Set<string>()
  for (const topic of topics as Partial<AnyTopic>[]) {
    if (typeof topic?.name !== 'string' || topic.value === undefined) {
      problems.add(`${what}: expected topics made by topic(), found ${shown(topic)}`)
    } else if (seen.has(topic.name)) {
      problems.add(`${what}: '${topic.name}' is there twice`)
    } else {
      seen.add(topic.name)
    }
  }
}
