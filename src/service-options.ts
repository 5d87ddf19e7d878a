import { integer, type Option, type OptionTable, oneOf, withoutDefault, yesNo } from './options.ts'
import type { RetryOptions, RetryRule } from './retry.ts'

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
  readonly batch?: number
  readonly start?: 'earliest' | 'latest'
  readonly publish?: Publish
  readonly fencing?: boolean
  readonly outsideReset?: OutsideReset
  readonly deadLetter?: string | false
  /** What happens before a message is given up. */
  readonly retry?: RetryOptions
}

/** Those of a service whose handler takes one message. */
export type HandlerOptions = Omit<ServiceOptions, 'batch'>

/** Service options as read. */
export interface ServiceSettings {
  readonly order: Order
  readonly concurrency: number
  readonly batch: number
  readonly start: 'earliest' | 'latest'
  readonly publish: Publish
  readonly fencing: boolean
  readonly outsideReset: OutsideReset
  /** Undefined: a message that is given up stops its partition. */
  readonly deadLetter: string | undefined
  readonly retry: RetryRule
}

/** Those without a default of their own follow from others. */
type ReadOptions = Omit<ServiceSettings, 'publish' | 'concurrency' | 'deadLetter' | 'retry'> & {
  readonly deadLetter: string | false | undefined
  readonly publish: Publish | undefined
  readonly concurrency: number | undefined
}

export const defaultConcurrency = {
  one: 64,
  // While what one call has made is written, the next one's messages are decoded. More would only be smaller batches.
  many: 2,
} as const

const deadLetterTopic: Option<string | false> = {
  default: false,
  shownDefault: '<service>.dlq',
  expected: 'the name of a topic, or false',
  help:
    'The topic of the messages that are given up, with what is known of them in their headers; made at the start where it ' +
    'is missing. With the outbox they are stored in the transaction of the unit. false: such a message stops its ' +
    'partition, and the process ends.',
  read: (given) =>
    given === false || given === 'false'
      ? false
      : typeof given === 'string' && legalTopic.test(given)
        ? given
        : undefined,
}

const legalTopic = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/

export const serviceOptions: OptionTable<ReadOptions> = {
  order: oneOf({
    words: ['key', 'partition', 'none'],
    default: 'key',
    help:
      'What is handled one after the other: the messages of a key (records without a key: of the partition), those of ' +
      'a partition, or nothing. "none" gives the most concurrency and no order at all.',
  }),
  concurrency: withoutDefault(
    integer({
      min: 1,
      max: 10_000,
      default: defaultConcurrency.one,
      help:
        'How many handlers of this service run at once in this process. Too low: slow calls hold everything up. Too ' +
        'high: whatever the handlers call is overrun. Calls of handleMany that run at once have different partitions.',
    }),
    `${defaultConcurrency.one}, with handleMany ${defaultConcurrency.many}`,
  ),
  batch: integer({
    min: 1,
    max: 10_000,
    default: 500,
    help:
      'How many messages handleMany is given at most; when fewer have come, it is not made to wait for more. Too low: the ' +
      'cost of a call is shared by few. Too high: a call that fails is repeated at length, and one that takes longer ' +
      'than drainTimeout is cut off.',
  }),
  start: oneOf({
    words: ['earliest', 'latest'],
    default: 'earliest',
    help: 'Where a partition starts that the group has never committed. "latest" skips what is there already.',
  }),
  publish: withoutDefault(
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
  deadLetter: withoutDefault(deadLetterTopic, '<service>.dlq'),
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

/** The names of `ServiceOptions`. */
export const serviceOptionNames: readonly string[] = [...Object.keys(serviceOptions), 'retry']

/** The names of `HandlerOptions`. */
export const handlerOptionNames: readonly string[] = serviceOptionNames.filter(
  (name) => name !== 'batch',
)
