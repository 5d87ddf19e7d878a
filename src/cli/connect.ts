import { existsSync } from 'node:fs'
import { PolluxError } from '../errors.ts'
import type { KafkaOptions } from '../kafka/index.ts'
import type { Broker } from '../ports/broker.ts'
import { isKafkaChosen, type ResolvedSettings } from './settings/resolve-settings.ts'

/**
 * The broker of the configuration, not connected yet.
 * @throws POLLUX_OPTION_INVALID when `folder` must exist and does not.
 */
export async function openBroker(
  resolved: ResolvedSettings,
  { mustExist = false }: { readonly mustExist?: boolean } = {},
): Promise<Broker> {
  if (isKafkaChosen(resolved)) {
    const { kafka } = await import('../kafka/index.ts')
    return kafka(kafkaOptions(resolved))
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
  options: { readonly mustExist?: boolean },
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
export function kafkaOptions({ settings, origins, kafkaConfig = {} }: ResolvedSettings): KafkaOptions {
  const { kafka, kafkaTls, kafkaCa, kafkaSasl, kafkaUsername, kafkaPassword } = settings
  const tls = kafkaCa !== undefined ? { ...asObject(kafkaConfig['tls']), ca: kafkaCa } : tlsSwitch()
  const sasl = {
    ...asObject(kafkaConfig['sasl']),
    ...(kafkaSasl === undefined ? {} : { mechanism: kafkaSasl }),
    ...(kafkaUsername === undefined ? {} : { username: kafkaUsername }),
    ...(kafkaPassword === undefined ? {} : { password: kafkaPassword }),
  }
  // kafka() checks the whole of it, so that an error names the option whatever its origin.
  return {
    ...kafkaConfig,
    ...(kafka === undefined ? {} : { brokers: kafka }),
    ...(tls === undefined ? {} : { tls }),
    ...(Object.keys(sasl).length === 0 ? {} : { sasl }),
  } as unknown as KafkaOptions

  function tlsSwitch(): unknown {
    if (origins.kafkaTls === 'default') return undefined
    return kafkaTls ? (kafkaConfig['tls'] ?? true) : false
  }
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
