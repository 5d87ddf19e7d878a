import type { Capability, Granted } from './capability.ts'
import type { Codec } from './codecs/codec.ts'
import { shown } from './errors.ts'
import { type Idempotency, type IdempotencyRule, readIdempotency } from './idempotency.ts'
import {
  checkObject,
  integer,
  type Option,
  type OptionTable,
  oneOf,
  Problems,
  readOptions,
  yesNo,
} from './options.ts'
import type { Logger } from './ports/logger.ts'
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

/** What a handler is given beside its message. Dead once the attempt has ended. */
export interface HandlerContext {
  /** Adds service, topic, partition and offset to each line. */
  readonly log: Logger
  /** Aborted when the partition is lost, or when stopping has waited long enough. Pass it on to what waits. */
  readonly signal: AbortSignal
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

/** How messages may overtake each other; see `serviceOptions`. */
export type Order = 'key' | 'partition' | 'none'

/** How outputs get to their topics; see `serviceOptions`. */
export type Publish = 'outbox' | 'direct' | 'transaction'

/** What counts when somebody else has set the group's position; see `serviceOptions`. */
export type OutsideReset = 'stop' | 'ledger' | 'follow'

/** The plain options of a service; `docs/options.md` describes them. */
export interface ServiceOptions {
  readonly order?: Order
  readonly concurrency?: number
  readonly start?: 'earliest' | 'latest'
  readonly publish?: Publish
  readonly fencing?: boolean
  readonly outsideReset?: OutsideReset
}

/** Service options as read. */
export interface ServiceSettings {
  readonly order: Order
  readonly concurrency: number
  readonly start: 'earliest' | 'latest'
  readonly publish: Publish
  readonly fencing: boolean
  readonly outsideReset: OutsideReset
}

/** What `defineService` takes. */
export interface ServiceDefinition<
  I extends readonly AnyTopic[],
  O extends readonly AnyTopic[],
  S,
  StateInput,
  U extends Uses,
> extends ServiceOptions {
  readonly inputs: I
  readonly outputs?: O
  /** The codec of the state of one key. Needs a store. */
  readonly state?: Codec<S, StateInput>
  /** What makes the second copy of a message harmless. Needs a store. Default `{ by: 'offset' }` where the service keeps something in one. */
  readonly idempotency?: Idempotency<MessageOf<I[number]>>
  /**
   * What the handler needs of the store beyond `state`, e.g. `{ db: postgresTransaction }`: then it runs inside the unit's
   * transaction, one message after the other.
   */
  readonly uses?: U
  readonly handle: (
    message: MessageOf<I[number]>,
    context: ([StateInput] extends [never] ? HandlerContext : StatefulContext<S, StateInput>) &
      Granted<U>,
  ) => Outputs<O[number]> | Promise<Outputs<O[number]>>
}

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
  readonly handle: (message: never, context: never) => unknown
}

type ReadOptions = Omit<ServiceSettings, 'publish'> & { readonly publish: Publish | undefined }

export const serviceOptions: OptionTable<ReadOptions> = {
  order: oneOf({
    words: ['key', 'partition', 'none'],
    default: 'key',
    help:
      'What is handled one after the other: the messages of a key (records without a key: of the partition), those of ' +
      'a partition, or nothing. "none" gives the most concurrency and no order at all.',
  }),
  concurrency: integer({
    min: 1,
    max: 10_000,
    default: 64,
    help:
      'How many handlers of this service run at once in this process. Too low: slow calls hold everything up. Too ' +
      'high: whatever the handlers call is overrun.',
  }),
  start: oneOf({
    words: ['earliest', 'latest'],
    default: 'earliest',
    help: 'Where a partition starts that the group has never committed. "latest" skips what is there already.',
  }),
  publish: unlessGiven(
    oneOf({
      words: ['outbox', 'direct', 'transaction'],
      default: 'direct',
      help:
        'How outputs get to their topics. "outbox": stored with the effects in one transaction and published after it; ' +
        'what a crash leaves unpublished goes out at the next start. "direct": published before the effects are ' +
        'stored; a crash in between publishes again, possibly another result. "transaction": Kafka’s, for services ' +
        'without a store: outputs and offsets become visible together.',
    }),
    'outbox with a store, else direct',
  ),
  fencing: yesNo({
    default: true,
    help:
      'With a store: keep the ledger, a row for each partition, and store effects only while the partition is ours. ' +
      'Without it a process that lost a partition and does not know yet may still write; only for idempotency "version" ' +
      'or "natural" without an outbox.',
  }),
  outsideReset: oneOf({
    words: ['stop', 'ledger', 'follow'],
    default: 'stop',
    help:
      'With the ledger: what counts when the group’s offset was set by something else, such as kafka-consumer-groups ' +
      '--reset-offsets. "stop": the service stops and says both positions. "ledger": its own, and the group’s is set ' +
      'back. "follow": the group’s. Forwards skips messages; backwards handles them again, so their effects come twice, ' +
      'unless their event’s id or version still tells them.',
  }),
}

/** The option without a default of its own: what it is follows from others. */
function unlessGiven<Value>(
  option: Option<Value>,
  shownDefault: string,
): Option<Value | undefined> {
  return { ...option, default: undefined, shownDefault }
}

const legalName = /^[A-Za-z0-9._-]{1,200}$/

// Beside those of the table.
const definitionNames = ['inputs', 'outputs', 'state', 'idempotency', 'uses', 'handle']

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
  const { inputs, outputs = [], state, idempotency, uses = {}, handle, ...rest } = definition
  if (typeof name !== 'string' || !legalName.test(name)) {
    problems.add(
      `name: expected 1 to 200 of the characters a-z A-Z 0-9 . _ -, found ${shown(name)}`,
    )
  }
  if (typeof handle !== 'function')
    problems.add(`handle: expected a function, found ${shown(handle)}`)
  checkTopics('inputs', inputs, problems)
  checkTopics('outputs', outputs, problems)
  if (Array.isArray(inputs) && inputs.length === 0)
    problems.add('inputs: expected at least one topic, found none')
  checkUses(uses, problems)
  const read = readOptions(serviceOptions, rest, problems, definitionNames)
  const rule = idempotency === undefined ? undefined : readIdempotency(idempotency, problems)
  const needsStore =
    state !== undefined ||
    Object.keys(uses).length > 0 ||
    read.publish === 'outbox' ||
    (rule !== undefined && rule.by !== 'natural')
  const publish = read.publish ?? (needsStore && outputs?.length > 0 ? 'outbox' : 'direct')
  const service: Service = {
    name,
    inputs,
    outputs,
    state: state as Codec<unknown, unknown> | undefined,
    idempotency: rule ?? (needsStore ? { by: 'offset' } : undefined),
    uses,
    needsStore,
    options: { ...read, publish },
    handle: handle as Service['handle'],
  }
  checkTogether(service, problems)
  problems.throwIfAny(`Service ${shown(name)} is wrong`)
  return service
}

/** What is right by itself and wrong with something else. */
function checkTogether(service: Service, problems: Problems): void {
  const { state, idempotency, uses, outputs, needsStore, options } = service
  const { order, publish, fencing } = options
  if (state !== undefined && order !== 'key')
    problems.add(`order: expected 'key' since the service declares state, found '${order}'`)
  if (idempotency?.by === 'version' && order !== 'key')
    problems.add(`order: expected 'key' since versions are kept by key, found '${order}'`)
  if (publish === 'transaction' && needsStore) {
    problems.add(
      "publish: expected 'outbox' or 'direct' since the service uses a store, found 'transaction': Kafka's transactions and a store's cannot be one",
    )
  }
  if (publish === 'direct' && Object.keys(uses).length > 0 && outputs.length > 0) {
    problems.add(
      "publish: expected 'outbox' since the handler writes in the unit's transaction (uses), found 'direct': outputs would be out before it is known whether that commits",
    )
  }
  if (fencing) return
  if (publish === 'outbox')
    problems.add(
      "fencing: expected true since publish is 'outbox', whose rows belong to the partition's owner, found false",
    )
  if (idempotency?.by === 'offset' || idempotency?.by === 'event-id')
    problems.add(
      `fencing: expected true since idempotency is by '${idempotency.by}', which is kept in the ledger, found false`,
    )
}

const contextNames = ['log', 'signal', 'state']

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
