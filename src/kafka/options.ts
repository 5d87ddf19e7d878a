import { type Duration, durationText } from '../duration.ts'
import { shown } from '../errors.ts'
import {
  checkMethods,
  duration,
  type OptionTable,
  oneOf,
  type Problems,
  readOptions,
  text,
  unknownOption,
} from '../options.ts'
import type { Logger } from '../ports/logger.ts'

/** librdkafka settings by their own names, e.g. `{ 'compression.codec': 'zstd' }`. */
export type KafkaSettings = Readonly<Record<string, string | number | boolean>>

/** A PEM text, or its bytes. */
export type Pem = string | Uint8Array

/** How the connection is encrypted, and who we are by certificate. */
export interface KafkaTls {
  /** Certificates of the authorities to trust. Default: the system's. */
  readonly ca?: Pem | readonly Pem[]
  /** Our certificate, with its chain; needs `key`. */
  readonly cert?: Pem
  /** The certificate's private key. */
  readonly key?: Pem
  /** Opens an encrypted `key`. */
  readonly passphrase?: string
  /** False trusts any server: for tests alone. Default true. */
  readonly rejectUnauthorized?: boolean
}

/** A token for OAUTHBEARER. */
export interface KafkaToken {
  readonly value: string
  /** When it ends: milliseconds since 1970. A new one is asked for before that. */
  readonly expiresAt: number
  /** Whom it names. Default: none, as most brokers read it from the token. */
  readonly principal?: string
}

/** How we tell the broker who we are. */
export type KafkaSasl =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
      readonly username: string
      readonly password: string
    }
  | { readonly mechanism: 'oauthbearer'; readonly token: () => Promise<KafkaToken> }

/** What `kafka` takes; `docs/kafka.md` describes it with examples. */
export interface KafkaOptions {
  /** Where to begin, as `host:port`; the other brokers are found from there. */
  readonly brokers: readonly string[]
  readonly clientId?: string
  /** True: encrypted, trusting the system's authorities. Default: not encrypted. */
  readonly tls?: boolean | KafkaTls
  readonly sasl?: KafkaSasl
  readonly instanceId?: string
  readonly sessionTimeout?: Duration
  readonly pollLimit?: Duration
  readonly connectTimeout?: Duration
  readonly protocol?: 'classic' | 'consumer'
  /** librdkafka settings for all clients. Those that would break a guarantee are refused. */
  readonly client?: KafkaSettings
  /** The same for consumers alone. */
  readonly consumer?: KafkaSettings
  /** The same for producers alone. */
  readonly producer?: KafkaSettings
  /** The same for the client that looks things up. */
  readonly admin?: KafkaSettings
  /** Where news of the connection goes. Default: nowhere; members use their service's logger. */
  readonly logger?: Logger
}

/** The plain options as read: durations in milliseconds. */
export interface KafkaPlainOptions {
  readonly clientId: string
  readonly instanceId: string | undefined
  readonly sessionTimeout: number
  readonly pollLimit: number
  readonly connectTimeout: number
  readonly protocol: 'classic' | 'consumer'
}

export const kafkaOptions: OptionTable<KafkaPlainOptions> = {
  clientId: text({
    default: 'pollux',
    help: 'The name that brokers show in their logs, metrics and quotas.',
  }),
  instanceId: text<string | undefined>({
    default: undefined,
    help:
      'A name of this process that survives its restart (static membership): a restart within sessionTimeout moves ' +
      'no partition. Two processes must never share one; the broker puts one of them out. With it, leaving does not ' +
      'hand over partitions: they wait for the process until sessionTimeout is over.',
  }),
  sessionTimeout: duration({
    default: '30s',
    min: '1s',
    max: '30m',
    help:
      'How long a silent process keeps its partitions. Too low: a pause of the process or network costs it its ' +
      'partitions. Too high: after a crash its partitions wait that long. The broker limits it, too. Not used with ' +
      'protocol "consumer", where the broker decides.',
  }),
  pollLimit: duration({
    default: '5m',
    min: '1s',
    max: '23h',
    help:
      'How long the event loop may be blocked before the process gives up its partitions (max.poll.interval.ms). ' +
      'Slow handlers do not count; polling goes on beside them. Must not be below sessionTimeout.',
  }),
  connectTimeout: duration({
    default: '30s',
    min: '1s',
    max: '1h',
    help: 'How long the first connection may take before starting fails.',
  }),
  protocol: oneOf({
    words: ['classic', 'consumer'],
    default: 'classic',
    help:
      'How members share partitions: "classic" by the members themselves (cooperative-sticky), "consumer" by the ' +
      'broker (KIP-848, Kafka 4.0 and later).',
  }),
}

// Beside those of the table.
const partNames = 'brokers tls sasl client consumer producer admin logger'.split(' ')

/** Reads the options and notes what is wrong; secrets are never shown. */
export function readKafkaOptions(options: KafkaOptions, problems: Problems): KafkaPlainOptions {
  const { brokers, tls, sasl, client, consumer, producer, admin, logger, ...plain } = options
  checkBrokers(brokers, problems)
  checkTls(tls, problems)
  checkSasl(sasl, problems)
  for (const [name, settings] of Object.entries({ client, consumer, producer, admin })) {
    if (settings === undefined) continue
    if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
      problems.add(`${name}: expected an object of librdkafka settings, found ${shown(settings)}`)
    }
  }
  if (logger !== undefined)
    checkMethods('logger', logger, ['debug', 'info', 'warn', 'error'], 'a logger', problems)
  const read = readOptions(kafkaOptions, plain, problems, partNames)
  if (read.pollLimit < read.sessionTimeout) {
    problems.add(
      `pollLimit: expected at least sessionTimeout (${durationText(read.sessionTimeout)}), found ${durationText(read.pollLimit)}`,
    )
  }
  return read
}

const hostAndPort = /^(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}$/

function checkBrokers(brokers: unknown, problems: Problems): void {
  if (!Array.isArray(brokers) || brokers.length === 0) {
    const found = Array.isArray(brokers) ? 'an empty one' : withoutPassword(brokers)
    return problems.add(`brokers: expected a list such as ['localhost:9092'], found ${found}`)
  }
  for (const broker of brokers as unknown[]) {
    if (typeof broker === 'string' && hostAndPort.test(broker)) continue
    problems.add(`brokers: expected host:port, found ${withoutPassword(broker)}`)
  }
}

/** A URL may hold a password. */
function withoutPassword(value: unknown): string {
  return typeof value === 'string' && value.includes('@') ? 'a text with @' : shown(value)
}

const tlsNames = ['ca', 'cert', 'key', 'passphrase', 'rejectUnauthorized']

function checkTls(tls: unknown, problems: Problems): void {
  if (tls === undefined || typeof tls === 'boolean') return
  if (typeof tls !== 'object' || tls === null)
    return problems.add('tls: expected true, false or an object')
  for (const name of Object.keys(tls)) {
    if (!tlsNames.includes(name)) problems.add(unknownOption(name, tlsNames, `tls.${name}`))
  }
  const { ca, cert, key, passphrase, rejectUnauthorized } = tls as Record<string, unknown>
  const isPem = (value: unknown): boolean =>
    typeof value === 'string' || value instanceof Uint8Array
  const all = Array.isArray(ca) ? ca : [ca]
  if (ca !== undefined && !all.every(isPem)) problems.add('tls.ca: expected PEM as text or bytes')
  if (cert !== undefined && !isPem(cert)) problems.add('tls.cert: expected PEM as text or bytes')
  if (key !== undefined && !isPem(key)) problems.add('tls.key: expected PEM as text or bytes')
  if ((cert === undefined) !== (key === undefined))
    problems.add('tls: expected cert and key together')
  if (passphrase !== undefined && typeof passphrase !== 'string')
    problems.add('tls.passphrase: expected a text')
  if (rejectUnauthorized !== undefined && typeof rejectUnauthorized !== 'boolean') {
    problems.add('tls.rejectUnauthorized: expected true or false')
  }
}

function checkSasl(sasl: unknown, problems: Problems): void {
  if (sasl === undefined) return
  if (typeof sasl !== 'object' || sasl === null)
    return problems.add('sasl: expected an object with a mechanism')
  const { mechanism, username, password, token } = sasl as Record<string, unknown>
  if (mechanism === 'oauthbearer') {
    if (typeof token !== 'function')
      problems.add('sasl.token: expected a function that returns a token')
    return
  }
  if (!['plain', 'scram-sha-256', 'scram-sha-512'].includes(mechanism as string)) {
    problems.add(
      `sasl.mechanism: expected 'plain' or 'scram-sha-256' or 'scram-sha-512' or 'oauthbearer', found ${shown(mechanism)}`,
    )
  }
  if (typeof username !== 'string' || username === '')
    problems.add('sasl.username: expected a text that is not empty')
  if (typeof password !== 'string' || password === '')
    problems.add('sasl.password: expected a text that is not empty')
}
