import { PolluxError } from '../errors.ts'
import type {
  KafkaOptions,
  KafkaPlainOptions,
  KafkaSasl,
  KafkaSettings,
  KafkaTls,
  Pem,
} from './options.ts'
import { findRefused } from './refused-settings.ts'
import { isSecretName, type Secrets } from './secrets.ts'

/** What a client of the driver is made with. */
export type ClientConfig = Record<string, unknown>

/** The configurations of the clients of one connection. Not to be shown: they hold secrets. */
export interface ClientConfigs {
  admin(): ClientConfig
  producer(): ClientConfig
  /** A producer that takes this transactional id. */
  transactional(id: string): ClientConfig
  consumer(group: string): ClientConfig
  /** A consumer outside of any group; the driver wants a name all the same. */
  reader(name: string): ClientConfig
  /** Most bytes of one record, as the producer counts them. */
  readonly maxRecordBytes: number
  /** After how many milliseconds the broker aborts a transaction by itself. */
  readonly transactionTimeout: number
}

/** What differs from librdkafka's defaults and may be changed; `docs/kafka.md` says why. */
export const defaultSettings: Readonly<
  Record<'client' | 'consumer' | 'producer' | 'transactional', KafkaSettings>
> = {
  client: {
    'reconnect.backoff.max.ms': 2_000,
    'topic.metadata.refresh.interval.ms': 60_000,
    'socket.keepalive.enable': true,
  },
  consumer: {
    'queued.max.messages.kbytes': 16_384,
    'queued.min.messages': 20_000,
    'fetch.max.bytes': 16 * 1024 ** 2,
    'fetch.queue.backoff.ms': 20,
    'fetch.wait.max.ms': 100,
    'heartbeat.interval.ms': 3_000,
  },
  producer: {
    'linger.ms': 5,
    'queue.buffering.max.kbytes': 262_144,
  },
  transactional: {
    'transaction.timeout.ms': 15_000,
    'retry.backoff.ms': 10,
  },
}

const forcedConsumer: KafkaSettings = {
  'enable.auto.commit': false,
  'enable.auto.offset.store': false,
  'isolation.level': 'read_committed',
  'auto.offset.reset': 'error',
  'allow.auto.create.topics': false,
}

const forcedTransactional: KafkaSettings = {
  'enable.idempotence': true,
  acks: 'all',
}

const forcedProducer: KafkaSettings = {
  ...forcedTransactional,
  'message.timeout.ms': 0,
}

export function clientConfigs(
  options: KafkaOptions,
  plain: KafkaPlainOptions,
  secrets: Secrets,
): ClientConfigs {
  const connection = connectionSettings(options, plain, secrets)
  for (const settings of [options.client, options.consumer, options.producer, options.admin]) {
    for (const [name, value] of Object.entries(settings ?? {}))
      if (isSecretName(name)) secrets.add(String(value))
  }
  const base: ClientConfig = { ...defaultSettings.client, ...options.client, ...connection }
  const consumer: ClientConfig = {
    ...base,
    ...defaultSettings.consumer,
    ...options.client,
    ...options.consumer,
  }
  const producer: ClientConfig = {
    ...base,
    ...defaultSettings.producer,
    partitioner: 'murmur2_random',
    ...options.client,
    ...options.producer,
    'delivery.report.only.error': true,
    dr_msg_cb: true,
  }
  const transactional = inTransactions({ ...defaultSettings.transactional, ...producer })
  return {
    admin: () => ({ ...base, ...options.admin }),
    producer: () => checked({ ...producer, ...forcedProducer }, 'producer', forcedProducer),
    transactional: (id) => ({
      ...checked({ ...transactional, ...forcedTransactional }, 'producer', forcedTransactional),
      'transactional.id': id,
    }),
    consumer: (group) =>
      checked(
        { ...membership(plain, consumer), ...forcedConsumer, 'group.id': group },
        'consumer',
        forcedConsumer,
      ),
    reader: (name) =>
      checked({ ...consumer, ...forcedConsumer, 'group.id': name }, 'consumer', forcedConsumer),
    maxRecordBytes: Number(producer['message.max.bytes'] ?? 1_000_000),
    transactionTimeout: Number(transactional['transaction.timeout.ms']),
  }
}

/** A consumer that takes part in its group. With "consumer", the broker decides what members say themselves otherwise. */
function membership(plain: KafkaPlainOptions, consumer: ClientConfig): ClientConfig {
  const { 'heartbeat.interval.ms': heartbeat, ...rest } = consumer
  const common = {
    ...rest,
    'max.poll.interval.ms': plain.pollLimit,
    ...(plain.instanceId === undefined ? {} : { 'group.instance.id': plain.instanceId }),
  }
  // librdkafka refuses the settings of the classic protocol together with this one.
  if (plain.protocol === 'consumer') return { ...common, 'group.protocol': 'consumer' }
  return {
    ...common,
    'partition.assignment.strategy': 'cooperative-sticky',
    'session.timeout.ms': plain.sessionTimeout,
    // Three heartbeats fit into a session.
    'heartbeat.interval.ms': Math.min(Number(heartbeat), Math.floor(plain.sessionTimeout / 3)),
  }
}

/** A producer's settings with the limits that a transaction's time sets to them; librdkafka refuses others. */
function inTransactions(producer: ClientConfig): ClientConfig {
  const { 'message.timeout.ms': _, 'delivery.timeout.ms': __, ...config } = producer
  const socket = config['socket.timeout.ms']
  if (socket === undefined) return config
  const limit = Number(config['transaction.timeout.ms'])
  return { ...config, 'socket.timeout.ms': Math.min(Number(socket), limit) }
}

const ownSettings = new Set([
  ...[
    'bootstrap.servers',
    'client.id',
    'group.id',
    'group.instance.id',
    'group.protocol',
    'session.timeout.ms',
  ],
  ...[
    'max.poll.interval.ms',
    'auto.offset.reset',
    'delivery.report.only.error',
    'dr_msg_cb',
    'sasl.username',
  ],
  ...[
    'sasl.password',
    'ssl.key.pem',
    'ssl.certificate.pem',
    'ssl.ca.pem',
    'oauthbearer_token_refresh_cb',
  ],
])

/**
 * What the client will really run with must not break a guarantee either, whatever way it came about: the last
 * look before a client is made.
 */
function checked(
  config: ClientConfig,
  group: 'consumer' | 'producer',
  forced: KafkaSettings,
): ClientConfig {
  const foreign = Object.entries(config).filter(([name]) => !ownSettings.has(name))
  const found = [...findRefused({ [group]: Object.fromEntries(foreign) as KafkaSettings })]
  for (const [name, value] of Object.entries(forced)) {
    if (config[name] !== value) found.push(`${group}['${name}'] is not ${value}`)
  }
  if (found.length === 0) return config
  throw new PolluxError(
    'POLLUX_SETTING_REFUSED',
    `The effective Kafka settings break a guarantee: ${found.join('; ')}`,
  )
}

function connectionSettings(
  options: KafkaOptions,
  plain: KafkaPlainOptions,
  secrets: Secrets,
): ClientConfig {
  const { brokers, tls, sasl } = options
  const isEncrypted = tls !== undefined && tls !== false
  const protocol = `${sasl === undefined ? '' : 'sasl_'}${isEncrypted ? 'ssl' : 'plaintext'}`
  return {
    'bootstrap.servers': brokers.join(','),
    'client.id': plain.clientId,
    'allow.auto.create.topics': false,
    // Without these options, the settings may say it, for mechanisms that have no option.
    ...(protocol === 'plaintext' || protocol === '' ? {} : { 'security.protocol': protocol }),
    ...(typeof tls === 'object' ? tlsSettings(tls, secrets) : {}),
    ...(sasl === undefined ? {} : saslSettings(sasl, secrets)),
  }
}

function tlsSettings(tls: KafkaTls, secrets: Secrets): ClientConfig {
  const { ca, cert, key, passphrase, rejectUnauthorized } = tls
  const authorities = (Array.isArray(ca) ? ca : [ca]) as readonly (Pem | undefined)[]
  if (key !== undefined) secrets.add(pem(key))
  secrets.add(passphrase)
  return {
    ...(ca === undefined
      ? {}
      : { 'ssl.ca.pem': authorities.map((one) => pem(one ?? '')).join('\n') }),
    ...(cert === undefined ? {} : { 'ssl.certificate.pem': pem(cert) }),
    ...(key === undefined ? {} : { 'ssl.key.pem': pem(key) }),
    ...(passphrase === undefined ? {} : { 'ssl.key.password': passphrase }),
    ...(rejectUnauthorized === false ? { 'enable.ssl.certificate.verification': false } : {}),
  }
}

function pem(value: Pem): string {
  return typeof value === 'string' ? value : Buffer.from(value).toString()
}

function saslSettings(sasl: KafkaSasl, secrets: Secrets): ClientConfig {
  if (sasl.mechanism !== 'oauthbearer') {
    secrets.add(sasl.password)
    return {
      'sasl.mechanisms': sasl.mechanism.toUpperCase(),
      'sasl.username': sasl.username,
      'sasl.password': sasl.password,
    }
  }
  return {
    'sasl.mechanisms': 'OAUTHBEARER',
    oauthbearer_token_refresh_cb: async () => {
      const { value, expiresAt, principal = '' } = await sasl.token()
      secrets.add(value)
      return { tokenValue: value, lifetime: expiresAt, principal }
    },
  }
}
