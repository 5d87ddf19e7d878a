import { test } from 'node:test'
import { kafka } from '../../src/kafka/index.ts'
import type { CopySettings } from './copy-process.ts'
import { finish, killAgainAndAgain } from './rounds.ts'
import { Witness } from './witness.ts'

const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
const seed = Number(process.env['POLLUX_SEED'] ?? Date.now() % 1_000_000)
const rounds = Number(process.env['POLLUX_ROUNDS'] ?? 50)
const mark = `${process.pid}-${Date.now()}`
const names = { input: `crash-in-${mark}`, output: `crash-out-${mark}`, group: `crash-${mark}` }

test(`killed again and again on Kafka: nothing is lost (POLLUX_SEED=${seed})`, async () => {
  const witness = new Witness(kafka({ brokers }), names)
  // A member that comes back under its name gets its partitions at once; without one, each death would cost a session.
  const members = ['one', 'two'].map(
    (name): CopySettings => ({
      broker: { kafka: brokers, instanceId: `${mark}-${name}` },
      ...names,
    }),
  )
  try {
    await witness.open(4)
    await killAgainAndAgain(witness, members, { rounds, seed })
    await finish(witness, members[0] as CopySettings)
  } finally {
    await witness.close()
  }
})
