import { shown } from '../../errors.ts'
import { Problems, unknownOption } from '../../options.ts'
import { rememberSecret, rememberUrlSecrets, urlSecrets } from '../secrets.ts'
import type { LoadedConfig } from './load-config.ts'
import {
  type ConfigSection,
  configSections,
  flagOf,
  isSecret,
  type SettingName,
  type Settings,
  sectionOf,
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

/** The options of an adapter in the config file, which the adapter checks itself. */
export type Section = Readonly<Record<string, unknown>>

export interface ResolvedSettings {
  readonly settings: Settings
  readonly origins: { readonly [Name in SettingName]: Origin }
  /** What the config file says of Kafka and PostgreSQL, as it stands there. */
  readonly sections: Readonly<Partial<Record<ConfigSection, Section>>>
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
  const sections = checkConfig(config, problems)
  const settings = values as unknown as Settings
  rememberDatabaseSecrets(settings, sections.postgres, environment)
  checkSasl(settings, sections.kafka, problems)
  problems.throwIfAny('The configuration is wrong')
  const warnings = [...unknownVariables(environment), ...secretsInFlags(flags)]
  return { settings, origins, sections, warnings }

  function givenFor(name: SettingName): Given[] {
    const found: Given[] = []
    const fromConfig = sectionOf(name) === undefined ? config?.values[name] : undefined
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
  if (isSecret(name) || name === 'postgres') return 'something that is not shown'
  if (typeof value === 'string' && value.includes('@'))
    return 'a text with an @ in it, which is not shown'
  return shown(value)
}

function checkConfig(
  config: LoadedConfig | undefined,
  problems: Problems,
): ResolvedSettings['sections'] {
  if (config === undefined) return {}
  const known: string[] = [
    ...settingNames.filter((name) => sectionOf(name) === undefined),
    ...configSections,
  ]
  for (const name of Object.keys(config.values)) {
    if (known.includes(name)) continue
    problems.add(unknownOption(name, known, `${config.path}: ${name}`))
  }
  const sections: Partial<Record<ConfigSection, Section>> = {}
  for (const name of configSections) {
    const given = config.values[name]
    if (given === undefined) continue
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
      sections[name] = given as Section
    } else {
      problems.add(
        `${config.path}: ${name}: expected an object such as ${sectionExamples[name]}, found ${foundText(name, given)}`,
      )
    }
  }
  rememberKafkaSecrets(sections.kafka ?? {})
  return sections
}

const sectionExamples: Readonly<Record<ConfigSection, string>> = {
  kafka: "{ brokers: ['localhost:9092'] }",
  postgres: "{ connectionString: 'postgres://user@host:5432/database' }",
}

function rememberKafkaSecrets(kafka: { readonly sasl?: unknown; readonly tls?: unknown }): void {
  const { password } = (kafka.sasl ?? {}) as { readonly password?: unknown }
  const { passphrase } = (kafka.tls ?? {}) as { readonly passphrase?: unknown }
  rememberTexts(password, passphrase)
}

function rememberDatabaseSecrets(
  { postgres }: Settings,
  section: { readonly connectionString?: unknown; readonly pool?: unknown } = {},
  { PGPASSWORD }: Sources['environment'],
): void {
  for (const url of [postgres, section.connectionString])
    if (typeof url === 'string') rememberUrlSecrets(url)
  const { options } = (section.pool ?? {}) as { readonly options?: { readonly password?: unknown } }
  rememberTexts(PGPASSWORD, options?.password)
}

function rememberTexts(...secrets: readonly unknown[]): void {
  for (const secret of secrets) if (typeof secret === 'string') rememberSecret(secret)
}

function checkSasl(settings: Settings, kafkaConfig: Section | undefined, problems: Problems): void {
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
export function isKafkaChosen({ settings, sections }: ResolvedSettings): boolean {
  return settings.kafka === undefined ? sections.kafka !== undefined : settings.kafka.length > 0
}

/** The same for PostgreSQL. */
export function isPostgresChosen({ settings, sections }: ResolvedSettings): boolean {
  return settings.postgres === undefined
    ? sections.postgres !== undefined
    : settings.postgres !== ''
}

/** What the config file says to an adapter, with what environment and flags say put over it. */
export function sectionOptions(
  { settings, origins, sections }: ResolvedSettings,
  section: ConfigSection,
  plainSettings: Readonly<Record<string, SettingName>>,
): Record<string, unknown> {
  const options: Record<string, unknown> = { ...sections[section] }
  for (const [name, setting] of Object.entries(plainSettings))
    if (origins[setting] !== 'default') options[name] = settings[setting]
  return options
}

/** Every user of a machine can read the flags of its processes. */
function secretsInFlags({ postgres }: Sources['flags']): string[] {
  if (typeof postgres !== 'string' || urlSecrets(postgres).length === 0) return []
  return [
    'everybody on this machine can read the password in --postgres; POLLUX_POSTGRES and PGPASSWORD keep it from them',
  ]
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
