import { kafka } from '../../src/kafka/index.ts'
import { freshName } from '../postgres/server.ts'
import { Database } from './database.ts'
import { type Place, Scene, type SceneOptions } from './scene.ts'

export const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')

export interface OnKafkaOptions extends Omit<SceneOptions, 'rules'> {
  /** Made of where effects are to be seen. */
  readonly rules: (database: Database) => SceneOptions['rules']
}

/** Plays a scene on Kafka and PostgreSQL, with topics and a schema of its own. */
export async function onKafka(
  { rules, ...options }: OnKafkaOptions,
  play: (scene: Scene, database: Database) => Promise<void>,
): Promise<void> {
  const name = freshName()
  const database = new Database(name)
  const place: Place = {
    names: { input: `${name}-in`, output: `${name}-out`, group: name },
    broker: kafka({ brokers }),
    store: database.store,
    // A member that comes back under its name gets its partitions at once; without one, each death would cost a session.
    brokerFor: (member) => ({ brokers, instanceId: `${name}-${member}` }),
    checkSettled: (ranges) => database.checkSettled(ranges),
  }
  try {
    await database.open()
    const scene = await Scene.open(place, { ...options, rules: rules(database) })
    try {
      await play(scene, database)
    } finally {
      await scene.witness.close()
    }
  } finally {
    await database.drop()
  }
}
