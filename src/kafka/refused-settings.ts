import { PolluxError } from '../errors.ts'
import type { KafkaSettings } from './options.ts'

/** A librdkafka setting that is refused: always, or with the values that `isRefused` names. */
export interface RefusedSetting {
  readonly name: string
  /** What `docs/kafka.md` says of the values refused. */
  readonly values: string
  readonly reason: string
  isRefused(value: string): boolean
}

const isOn = (value: string): boolean => ['true', '1', 't', 'on', 'yes'].includes(value)
const isOff = (value: string): boolean => !isOn(value)

function always(name: string, reason: string): RefusedSetting {
  return { name, values: 'any', reason, isRefused: () => true }
}

function on(name: string, reason: string): RefusedSetting {
  return { name, values: 'true', reason, isRefused: isOn }
}

function unless(name: string, allowed: readonly string[], reason: string): RefusedSetting {
  return {
    name,
    values: `any but ${allowed.join(', ')}`,
    reason,
    isRefused: (value) => !allowed.includes(value),
  }
}

const autoCommit =
  'Offsets are committed only after the work is done; a timed commit would lose what is still in work.'
const allCopies =
  'An output counts as written once all in-sync replicas have it; with less, a failover loses it.'
const noTimeOut =
  'A local time-out would report records as failed that the broker may have written.'
const service = 'The group is the service’s name.'
const connection = (option: string): string =>
  `Use the option ${option}, which is checked and kept out of messages.`
const callback = 'The adapter answers this callback itself.'
const inOrder = 'With more than 5 requests on their way, a repeated request could change the order.'
const retries = 'Without repetition, a short trouble of the broker would lose an output.'

/** Every setting that would break a guarantee, or that has an option of its own. */
export const refusedSettings: readonly RefusedSetting[] = [
  on('enable.auto.commit', autoCommit),
  on('auto.commit.enable', autoCommit),
  on(
    'enable.auto.offset.store',
    'The position to commit follows the finished work, not the records handed out.',
  ),
  unless('acks', ['all', '-1'], allCopies),
  unless('request.required.acks', ['all', '-1'], allCopies),
  {
    name: 'enable.idempotence',
    values: 'false',
    reason: 'Without it, a repeated request writes records twice or out of order.',
    isRefused: isOff,
  },
  {
    name: 'max.in.flight.requests.per.connection',
    values: 'above 5',
    reason: inOrder,
    isRefused: (value) => Number(value) > 5,
  },
  {
    name: 'max.in.flight',
    values: 'above 5',
    reason: inOrder,
    isRefused: (value) => Number(value) > 5,
  },
  { name: 'retries', values: '0', reason: retries, isRefused: (value) => Number(value) === 0 },
  {
    name: 'message.send.max.retries',
    values: '0',
    reason: retries,
    isRefused: (value) => Number(value) === 0,
  },
  unless('message.timeout.ms', ['0'], noTimeOut),
  unless('delivery.timeout.ms', ['0'], noTimeOut),
  always('transactional.id', 'The runtime gives each of its transactional producers an id.'),
  unless(
    'partitioner',
    ['murmur2', 'murmur2_random'],
    'Keys must go to the partition that Java’s default partitioner chooses, or joins and order per key break.',
  ),
  unless(
    'isolation.level',
    ['read_committed'],
    'Records of aborted transactions must not reach a handler.',
  ),
  on('allow.auto.create.topics', 'A misspelt topic would be made instead of refused.'),
  unless(
    'partition.assignment.strategy',
    ['cooperative-sticky'],
    'Eager assignors take all partitions from all members at each change. For "consumer" groups use the option protocol.',
  ),
  always(
    'auto.offset.reset',
    'The service’s start says where a new group begins; a lost position is reported, not skipped.',
  ),
  always('group.id', service),
  always('group.instance.id', 'Use the option instanceId.'),
  always('group.protocol', 'Use the option protocol.'),
  always('session.timeout.ms', 'Use the option sessionTimeout.'),
  always('max.poll.interval.ms', 'Use the option pollLimit.'),
  always('client.id', 'Use the option clientId.'),
  always('bootstrap.servers', 'Use the option brokers.'),
  always('metadata.broker.list', 'Use the option brokers.'),
  always('sasl.username', connection('sasl')),
  always('sasl.password', connection('sasl')),
  always('ssl.key.pem', connection('tls')),
  always('ssl.certificate.pem', connection('tls')),
  always('ssl.ca.pem', connection('tls')),
  always('delivery.report.only.error', 'The adapter learns from it which records were refused.'),
  always('oauthbearer_token_refresh_cb', 'Use the option sasl with a token function.'),
  ...[
    'rebalance_cb',
    'offset_commit_cb',
    'dr_cb',
    'dr_msg_cb',
    'event_cb',
    'queue_non_empty_cb',
  ].map((name) => always(name, callback)),
]

const byName = new Map(refusedSettings.map((setting) => [setting.name, setting]))

/** One line for each setting that is refused. */
export function findRefused(
  groups: Readonly<Record<string, KafkaSettings | undefined>>,
): readonly string[] {
  return Object.entries(groups).flatMap(([group, settings]) =>
    Object.entries(settings ?? {}).flatMap(([name, value]) => {
      const refused = byName.get(name)
      if (refused?.isRefused(String(value).toLowerCase().trim()) !== true) return []
      return [`${group}['${name}']: ${refused.reason}`]
    }),
  )
}

/** @throws POLLUX_SETTING_REFUSED with every refused setting. */
export function checkSettings(groups: Readonly<Record<string, KafkaSettings | undefined>>): void {
  const found = findRefused(groups)
  if (found.length === 0) return
  const list = found.map((line) => `\n  - ${line}`).join('')
  throw new PolluxError(
    'POLLUX_SETTING_REFUSED',
    `Kafka settings that Pollux cannot work with:${list}`,
  )
}
