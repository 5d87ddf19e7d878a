import { checkObject, Problems } from '../options.ts'
import type { Broker } from '../ports/broker.ts'
import { silent } from '../ports/logger.ts'
import { KafkaBroker } from './broker.ts'
import { clientConfigs } from './client-config.ts'
import { type KafkaOptions, readKafkaOptions } from './options.ts'
import { checkSettings } from './refused-settings.ts'
import { Secrets } from './secrets.ts'

export {
  type KafkaOptions,
  type KafkaPlainOptions,
  type KafkaSasl,
  type KafkaSettings,
  type KafkaTls,
  type KafkaToken,
  kafkaOptions,
  type Pem,
} from './options.ts'

/**
 * Kafka as the broker. Makes no connection yet: `run` does, or `connect`. Needs the driver package
 * `@confluentinc/kafka-javascript` (POLLUX_DRIVER_MISSING says how to get it).
 * @throws POLLUX_OPTION_INVALID listing all that is wrong; POLLUX_SETTING_REFUSED for settings of librdkafka that
 * would break a guarantee.
 */
export function kafka(options: KafkaOptions): Broker {
  checkObject('kafka()', options, "{ brokers: ['host:port'] }")
  const problems = new Problems()
  const plain = readKafkaOptions(options, problems)
  problems.throwIfAny('The options of kafka() are wrong')
  const { client, consumer, producer, admin } = options
  checkSettings({ client, consumer, producer, admin })
  const secrets = new Secrets()
  const configs = clientConfigs(options, plain, secrets)
  return new KafkaBroker(
    options.brokers.join(','),
    plain,
    configs,
    secrets,
    options.logger ?? silent,
  )
}
