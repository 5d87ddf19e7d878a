import type { Codec } from './codecs/codec.ts'
import { shown } from './errors.ts'
import { checkObject, integer, type OptionTable, oneOf, Problems, readOptions } from './options.ts'
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

/** What a handler may return: messages of declared output topics, or nothing. */
export type Outputs<O extends AnyTopic> =
  | OutputMessage<O>
  | readonly OutputMessage<O>[]
  | undefined
  | void

/** How messages may overtake each other; see `serviceOptions`. */
export type Order = 'key' | 'partition' | 'none'

/** The plain options of a service; `docs/options.md` describes them. */
export interface ServiceOptions {
  readonly order?: Order
  readonly concurrency?: number
  readonly start?: 'earliest' | 'latest'
}

/** What `defineService` takes. */
export interface ServiceDefinition<
  I extends readonly AnyTopic[],
  O extends readonly AnyTopic[],
  S,
  StateInput,
> extends ServiceOptions {
  readonly inputs: I
  readonly outputs?: O
  /** The codec of the state of one key. Needs a store. */
  readonly state?: Codec<S, StateInput>
  readonly handle: (
    message: MessageOf<I[number]>,
    context: [StateInput] extends [never] ? HandlerContext : StatefulContext<S, StateInput>,
  ) => Outputs<O[number]> | Promise<Outputs<O[number]>>
}

/** The unit of deployment, as a plain value: one consumer group. Made by `defineService`. */
export interface Service {
  /** The consumer group's name, too. */
  readonly name: string
  readonly inputs: readonly AnyTopic[]
  readonly outputs: readonly AnyTopic[]
  readonly state: Codec<unknown, unknown> | undefined
  readonly options: Required<ServiceOptions>
  readonly handle: (message: never, context: never) => unknown
}

export const serviceOptions: OptionTable<Required<ServiceOptions>> = {
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
}

const legalName = /^[A-Za-z0-9._-]{1,200}$/

// Beside those of the table.
const definitionNames = ['inputs', 'outputs', 'state', 'handle']

/**
 * Declares a service. It starts nothing: `run` and `pollux run` do.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function defineService<
  const I extends readonly AnyTopic[],
  const O extends readonly AnyTopic[] = readonly [],
  S = never,
  StateInput = never,
>(name: string, definition: ServiceDefinition<I, O, S, StateInput>): Service {
  checkObject('defineService()', definition, 'a name and { inputs: […], handle(message) { … } }')
  const problems = new Problems()
  const { inputs, outputs = [], state, handle, ...rest } = definition
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
  const options = readOptions(serviceOptions, rest, problems, definitionNames)
  if (state !== undefined && options.order !== 'key') {
    problems.add(`order: expected 'key' since the service declares state, found '${options.order}'`)
  }
  problems.throwIfAny(`Service ${shown(name)} is wrong`)
  return {
    name,
    inputs,
    outputs,
    state: state as Codec<unknown, unknown> | undefined,
    options,
    handle: handle as Service['handle'],
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
