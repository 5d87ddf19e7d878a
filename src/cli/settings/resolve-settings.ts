import { shown } from '../../errors.ts'
import { Problems, unknownOption } from '../../options.ts'
import { rememberSecret } from '../secrets.ts'
import type { LoadedConfig } from './load-config.ts'
import {
  flagOf,
  isSecret,
  type SettingName,
  type Settings,
  settingNames,
  settingsTable,
  variableOf,
} from './settings.ts'

/** Where a setting came from; a later one goes before an earlier one. */
export type Origin = 'default' | 'config file' | 'environment' | 'flag'

/** What is given, before any check. */
export interface Sources {
  /** By setting name, as the command line was parsed. Other names are passed over. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly config: LoadedConfig | undefined
}

export interface ResolvedSettings {
  readonly settings: Settings
  readonly origins: { readonly [Name in SettingName]: Origin }
  /** What the config file says of Kafka, as it stands there. */
  readonly kafkaConfig: Readonly<Record<string, unknown>> | undefined
  /** Lines for the log. */
  readonly warnings: readonly string[]
}

/** Variables that are no settings but belong to Pollux all the same. */
const otherVariables: ReadonlySet<string> = new Set([
  'POLLUX_CONFIG',
  'POLLUX_DEBUG',
  'POLLUX_CACHE',
  'POLLUX_WORKER',
])

interface Given {
  readonly origin: Origin
  /** How a message names it. */
  readonly label: string
  readonly value: unknown
}

/**
 * Settings by rising precedence: defaults, config file, environment, flags. A variable that is set but empty counts
 * as not set.
 * @throws POLLUX_OPTION_INVALID with every problem of every origin.
 */
export function resolveSettings({ flags, environment, config }: Sources): ResolvedSettings {
  const problems = new Problems()
  const values: Record<string, unknown> = {}
  const origins = {} as Record<SettingName, Origin>
  for (const name of settingNames) {
    values[name] = settingsTable[name].default
    origins[name] = 'default'
    for (const given of givenFor(name)) {
      const read = settingsTable[name].read(given.value)
      if (read === undefined) {
        problems.add(
          `${given.label}: expected ${settingsTable[name].expected}, found ${foundText(name, given.value)}`,
        )
      } else {
        values[name] = read
        origins[name] = given.origin
      }
    }
    if (isSecret(name) && typeof values[name] === 'string') rememberSecret(values[name])
  }
  const kafkaConfig = checkConfig(config, problems)
  const settings = values as unknown as Settings
  checkSasl(settings, kafkaConfig, problems)
  problems.throwIfAny('The configuration is wrong')
  return { settings, origins, kafkaConfig, warnings: unknownVariables(environment) }

  function givenFor(name: SettingName): Given[] {
    const found: Given[] = []
    const fromConfig = name.startsWith('kafka') ? undefined : config?.values[name]
    if (fromConfig !== undefined)
      found.push({ origin: 'config file', label: `${config?.path}: ${name}`, value: fromConfig })
    const variable = environment[variableOf(name)]
    if (variable !== undefined && variable !== '') {
      found.push({
        origin: 'environment',
        label: `environment: ${variableOf(name)}`,
        value: variable,
      })
    }
    if (flags[name] !== undefined)
      found.push({ origin: 'flag', label: flagOf(name), value: flags[name] })
    return found
  }
}

/** A value in a message; an address with a user in it may hold a password, too. */
function foundText(name: SettingName, value: unknown): string {
  if (isSecret(name)) return 'something that is not shown'
  if (typeof value === 'string' && value.includes('@'))
    return 'a text with an @ in it, which is not shown'
  return shown(value)
}

function checkConfig(
  config: LoadedConfig | undefined,
  problems: Problems,
): Record<string, unknown> | undefined {
  if (config === undefined) return undefined
  const known = [...settingNames.filter((name) => !name.startsWith('kafka')), 'kafka']
  for (const name of Object.keys(config.values)) {
    if (known.includes(name)) continue
    problems.add(unknownOption(name, known, `${config.path}: ${name}`))
  }
  const { kafka } = config.values
  if (kafka === undefined) return undefined
  if (typeof kafka === 'object' && kafka !== null && !Array.isArray(kafka)) {
    rememberSecretsOf(kafka)
    return kafka as Record<string, unknown>
  }
  problems.add(
    `${config.path}: kafka: expected an object such as { brokers: ['localhost:9092'] }, found ${shown(kafka)}`,
  )
  return undefined
}

function rememberSecretsOf(kafka: { readonly sasl?: unknown; readonly tls?: unknown }): void {
  const { password } = (kafka.sasl ?? {}) as { readonly password?: unknown }
  const { passphrase } = (kafka.tls ?? {}) as { readonly passphrase?: unknown }
  for (const secret of [password, passphrase])
    if (typeof secret === 'string') rememberSecret(secret)
}

function checkSasl(
  settings: Settings,
  kafkaConfig: Readonly<Record<string, unknown>> | undefined,
  problems: Problems,
): void {
  const { kafkaSasl, kafkaUsername, kafkaPassword } = settings
  if (kafkaSasl === undefined && kafkaUsername === undefined && kafkaPassword === undefined) return
  const sasl = (kafkaConfig?.['sasl'] ?? {}) as Readonly<Record<string, unknown>>
  const missing: string[] = []
  if (kafkaSasl === undefined && sasl['mechanism'] === undefined)
    missing.push(`${flagOf('kafkaSasl')} or POLLUX_KAFKA_SASL`)
  if (kafkaUsername === undefined && sasl['username'] === undefined) {
    missing.push(`${flagOf('kafkaUsername')} or POLLUX_KAFKA_USERNAME`)
  }
  if (kafkaPassword === undefined && sasl['password'] === undefined)
    missing.push('POLLUX_KAFKA_PASSWORD')
  if (missing.length > 0)
    problems.add(`SASL needs mechanism, user name and password: missing are ${missing.join('; ')}`)
}

/** Whether Kafka is meant: wherever it is named, unless `--no-kafka` says otherwise. */
export function isKafkaChosen({ settings, kafkaConfig }: ResolvedSettings): boolean {
  return settings.kafka === undefined ? kafkaConfig !== undefined : settings.kafka.length > 0
}

function unknownVariables(environment: Sources['environment']): string[] {
  const known = new Set([...settingNames.map(variableOf), ...otherVariables])
  return Object.keys(environment)
    .filter((name) => name.startsWith('POLLUX_') && !known.has(name))
    .toSorted()
    .map(
      (name) => `the environment variable ${name} is not one that Pollux knows; it has no effect`,
    )
}
