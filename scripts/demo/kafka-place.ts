import { setTimeout as wait } from 'node:timers/promises'
import { kafka } from '../../src/kafka/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { runCommand } from '../command.ts'
import { startCluster } from '../kafka/cluster.ts'
import { Failure } from '../kafka/failure.ts'
import { demoTopics, type Place, type PlaceOptions, preparePlace, removeStore } from './place.ts'

export interface KafkaPlaceOptions extends PlaceOptions {
  /** The port of the broker to start, or to find running. */
  readonly port: number
}

/** Kafka with the store in the folder: the broker of `KAFKA_BROKERS`, or the test broker, started if need be. */
export async function openKafkaPlace(options: KafkaPlaceOptions): Promise<Place> {
  const { folder, reset, port, logger } = options
  await prepareClient()
  const { brokers, isOurs } = await findBrokers(port)
  const broker = kafka({
    brokers,
    logger,
    // After a kill, the next run has to wait this long for the partitions: the least that Kafka allows.
    sessionTimeout: '6s',
  })
  if (reset) {
    if (!isOurs) throw foreignBroker(brokers)
    removeStore(folder)
    await broker.connect()
    await deleteTopics(broker, brokers)
  }
  return preparePlace(options, broker, {
    flags: `--kafka ${brokers.join(',')}`,
    stopCommand: isOurs
      ? `npm run kafka:stop${port === 9092 ? '' : ` -- --port ${port}`}`
      : undefined,
  })
}

async function prepareClient(): Promise<void> {
  console.log('Making the native Kafka client ready (the first time may take minutes) …')
  const { code, output } = await runCommand('node', ['scripts/kafka/client.ts'])
  if (code !== 0) throw new Failure(`The native Kafka client is not ready:\n${output.trimEnd()}`)
}

async function findBrokers(port: number): Promise<{ brokers: readonly string[]; isOurs: boolean }> {
  const given = process.env['KAFKA_BROKERS']
  if (given !== undefined && given !== '') return { brokers: given.split(','), isOurs: false }
  console.log(
    `Starting Kafka on port ${port}, if it does not run yet (the first time downloads it) …`,
  )
  const { bootstrap, state } = await startCluster({ port })
  return { brokers: bootstrap, isOurs: state !== 'foreign' }
}

function foreignBroker(brokers: readonly string[]): Failure {
  const names = demoTopics.map(({ name }) => name).join(', ')
  return new Failure(
    `--reset deletes topics only on a broker that npm run kafka:start has started. On ${brokers.join(',')}, ` +
      `delete the topics ${names} with your own tools, then run the demo again.`,
  )
}

/** The positions of the groups go with the topics. Deleting is no part of Pollux's own port. */
async function deleteTopics(broker: Broker, brokers: readonly string[]): Promise<void> {
  const driver = (await import('@confluentinc/kafka-javascript')).default
  const client = driver.AdminClient.create({
    'bootstrap.servers': brokers.join(','),
  })
  const names = demoTopics.map(({ name }) => name)
  const isThere = async (): Promise<string[]> =>
    (await broker.admin.topics()).map(({ name }) => name).filter((name) => names.includes(name))
  try {
    for (const name of await isThere()) {
      await new Promise<void>((resolve, reject) => {
        client.deleteTopic(name, 10_000, (error?: unknown) =>
          error === undefined ? resolve() : reject(error),
        )
      })
    }
    while ((await isThere()).length > 0) await wait(50)
  } finally {
    client.disconnect()
  }
}
