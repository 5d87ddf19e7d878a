import { existsSync } from 'node:fs'
import { PolluxError } from '../errors.ts'
import type { KafkaOptions, KafkaPlainOptions } from '../kafka/index.ts'
import type { Broker } from '../ports/broker.ts'
import type { Logger } from '../ports/logger.ts'
import {
  isKafkaChosen,
  type ResolvedSettings,
  sectionOptions,
} from './settings/resolve-settings.ts'
import type { SettingName } from './settings/settings.ts'

export interface OpenOptions {
  readonly logger: Logger
  /** Whether the embedded broker's folder must be there already. Default false. */
  readonly mustExist?: boolean
  /** Which worker this process is, such as `1/2`, if there are several. */
  readonly worker?: string | undefined
}

/**
 * The broker of the configuration, not connected yet.
 * @throws POLLUX_OPTION_INVALID when `folder` must exist and does not.
 */
export async function openBroker(
  resolved: ResolvedSettings,
  { mustExist = false, logger, worker }: OpenOptions,
): Promise<Broker> {
  if (isKafkaChosen(resolved)) {
    const { kafka } = await import('../kafka/index.ts')
    return kafka({ ...kafkaOptions(resolved, worker), logger })
  }
  const { folder } = resolved.settings
  if (mustExist && !existsSync(folder)) {
    throw new PolluxError('POLLUX_OPTION_INVALID', `There is no embedded broker in ${folder}.`, {
      hint: 'Name the brokers with --kafka host:port, or another folder with --folder.',
    })
  }
  const { embeddedBroker } = await import('../embedded/index.ts')
  return embeddedBroker({ folder })
}

/** Connects, does the work, and closes the broker whatever becomes of it. */
export async function withBroker<Result>(
  resolved: ResolvedSettings,
  options: OpenOptions,
  work: (broker: Broker) => Promise<Result>,
): Promise<Result> {
  const broker = await openBroker(resolved, options)
  // Pending promises and the embedded broker's timers do not keep Node running.
  const alive = setInterval(() => {}, 2 ** 30)
  try {
    await broker.connect()
    return await work(broker)
  } finally {
    await broker.close()
    clearInterval(alive)
  }
}

/** What the config file says of Kafka, with what environment and flags say put over it. */
export function kafkaOptions(resolved: ResolvedSettings, worker?: string): KafkaOptions {
  const { settings, origins } = resolved
  const kafkaConfig = resolved.sections.kafka ?? {}
  const { kafka, kafkaTls, kafkaCa, kafkaSasl, kafkaUsername, kafkaPassword } = settings
  const options = sectionOptions(resolved, 'kafka', plainSettings)
  if (kafka !== undefined) options['brokers'] = kafka
  if (origins.kafkaTls !== 'default') options['tls'] = kafkaTls && (kafkaConfig['tls'] || true)
  if (kafkaCa !== undefined) options['tls'] = { ...asObject(kafkaConfig['tls']), ca: kafkaCa }
  const sasl = {
    ...(kafkaSasl === undefined ? {} : { mechanism: kafkaSasl }),
    ...(kafkaUsername === undefined ? {} : { username: kafkaUsername }),
    ...(kafkaPassword === undefined ? {} : { password: kafkaPassword }),
  }
  if (Object.keys(sasl).length > 0) options['sasl'] = { ...asObject(kafkaConfig['sasl']), ...sasl }
  // Two members of one instance id would put each other out.
  if (worker !== undefined && options['instanceId'] !== undefined) {
    options['instanceId'] = `${String(options['instanceId'])}-${worker.split('/')[0]}`
  }
  // kafka() checks the whole of it, so that an error names the option whatever its origin.
  return options as unknown as KafkaOptions
}

const plainSettings = {
  clientId: 'kafkaClientId',
  instanceId: 'kafkaInstanceId',
  sessionTimeout: 'kafkaSessionTimeout',
  pollLimit: 'kafkaPollLimit',
  connectTimeout: 'kafkaConnectTimeout',
  protocol: 'kafkaProtocol',
} as const satisfies Record<keyof KafkaPlainOptions, SettingName>

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
