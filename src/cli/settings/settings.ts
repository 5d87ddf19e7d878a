import { kafkaOptions } from '../../kafka/options.ts'
import { integer, type OptionTable, oneOf, text, yesNo } from '../../options.ts'
import { postgresOptions } from '../../postgres/options.ts'
import { type RuntimeSettings, runtimeOptions } from '../../runtime-options.ts'
import { brokerList, databaseUrl, fileContent, optional } from './option-kinds.ts'

/** How much is logged; `silent` is nothing at all. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export type SaslMechanism = 'plain' | 'scram-sha-256' | 'scram-sha-512'

/** Every setting of the command line as it is used: durations in milliseconds. */
export interface Settings extends RuntimeSettings {
  readonly kafka: readonly string[] | undefined
  readonly kafkaTls: boolean
  readonly kafkaCa: string | undefined
  readonly kafkaSasl: SaslMechanism | undefined
  readonly kafkaUsername: string | undefined
  readonly kafkaPassword: string | undefined
  readonly kafkaClientId: string
  readonly kafkaInstanceId: string | undefined
  readonly kafkaSessionTimeout: number
  readonly kafkaPollLimit: number
  readonly kafkaConnectTimeout: number
  readonly kafkaProtocol: 'classic' | 'consumer'
  /** Empty when the embedded store is asked for (`--no-postgres`). */
  readonly postgres: string | undefined
  readonly schema: string
  readonly postgresMigrate: boolean
  readonly postgresPoolSize: number
  readonly postgresConnectTimeout: number
  readonly postgresStatementTimeout: number
  readonly postgresLockTimeout: number
  readonly folder: string
  readonly logLevel: LogLevel
  readonly workers: number
}

export type SettingName = keyof Settings & string

/**
 * Every setting, once. Its flag (`--buffer-bytes`), its environment variable (`POLLUX_BUFFER_BYTES`), its name in
 * `pollux.config.ts` (`bufferBytes`), its check and its help all follow from this table.
 */
export const settingsTable: OptionTable<Settings> = {
  kafka: brokerList({
    help: 'The Kafka brokers to start from. Without them, the embedded broker is used.',
  }),
  kafkaTls: yesNo({ default: false, help: 'Speaks TLS to the Kafka brokers.' }),
  kafkaCa: fileContent({
    help: 'A PEM file with the authorities that may have signed the brokers’ certificates. Turns TLS on.',
  }),
  kafkaSasl: optional(
    oneOf({
      words: ['plain', 'scram-sha-256', 'scram-sha-512'],
      default: 'scram-sha-512',
      help: 'How to authenticate; needs the user name and POLLUX_KAFKA_PASSWORD.',
    }),
  ),
  kafkaUsername: text<string | undefined>({ default: undefined, help: 'The user name for SASL.' }),
  kafkaPassword: text<string | undefined>({
    default: undefined,
    help: 'The password for SASL. It has no flag, since every user of a machine can read the flags of its processes.',
  }),
  kafkaClientId: kafkaOptions.clientId,
  kafkaInstanceId: kafkaOptions.instanceId,
  kafkaSessionTimeout: kafkaOptions.sessionTimeout,
  kafkaPollLimit: kafkaOptions.pollLimit,
  kafkaConnectTimeout: kafkaOptions.connectTimeout,
  kafkaProtocol: kafkaOptions.protocol,
  postgres: databaseUrl({
    help:
      'The PostgreSQL to keep state in, as postgres://user@host:5432/database. What it leaves out, PGPASSWORD, PGHOST ' +
      'and the like say. Without it, the embedded store is used.',
  }),
  schema: postgresOptions.schema,
  postgresMigrate: postgresOptions.migrate,
  postgresPoolSize: postgresOptions.poolSize,
  postgresConnectTimeout: postgresOptions.connectTimeout,
  postgresStatementTimeout: postgresOptions.statementTimeout,
  postgresLockTimeout: postgresOptions.lockTimeout,
  folder: {
    ...text({
      default: '.pollux',
      help: 'Where the embedded broker and store keep their data. Relative to the working folder.',
    }),
    expected: 'the path of a folder',
  },
  logLevel: oneOf({
    words: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
    help: 'The least severe log lines that are written, to stderr. Commands other than run begin at warn.',
  }),
  workers: integer({
    min: 1,
    max: 64,
    default: 1,
    help: 'How many processes share the work, each a member of the consumer groups. More than the topics have partitions is of no use.',
  }),
  ...runtimeOptions,
}

export const settingNames: readonly SettingName[] = Object.keys(settingsTable) as SettingName[]

/** Settings that connect to a broker: every command has their flags. */
export const connectionSettings: readonly SettingName[] = [
  'kafka',
  'kafkaTls',
  'kafkaCa',
  'kafkaSasl',
  'kafkaUsername',
  'kafkaConnectTimeout',
  'folder',
  'logLevel',
]

/** Settings that say which store is meant. */
export const storeSettings: readonly SettingName[] = ['postgres', 'schema', 'folder', 'logLevel']

/** Settings whose flags `pollux run` has besides. */
export const runSettings: readonly SettingName[] = [
  'postgres',
  'schema',
  'postgresMigrate',
  'postgresPoolSize',
  'postgresConnectTimeout',
  'postgresStatementTimeout',
  'postgresLockTimeout',
  'kafkaClientId',
  'kafkaInstanceId',
  'kafkaSessionTimeout',
  'kafkaPollLimit',
  'kafkaProtocol',
  'workers',
  ...(Object.keys(runtimeOptions) as SettingName[]),
]

const secretSettings: ReadonlySet<SettingName> = new Set<SettingName>(['kafkaPassword'])

/** Whether the setting's value must not be shown to anyone. */
export function isSecret(name: SettingName): boolean {
  return secretSettings.has(name)
}

/** The object in `pollux.config.ts` that the setting is a part of; undefined when it stands there by itself. */
export function sectionOf(name: SettingName): ConfigSection | undefined {
  if (name === 'schema') return 'postgres'
  return configSections.find((section) => name.startsWith(section))
}

/** Objects in `pollux.config.ts` that are the options of an adapter. */
export const configSections = ['kafka', 'postgres'] as const

export type ConfigSection = (typeof configSections)[number]

/** `bufferBytes` as `--buffer-bytes`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** `bufferBytes` as `POLLUX_BUFFER_BYTES`. */
export function variableOf(name: string): string {
  return `POLLUX_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
}
