// A process with a service on Kafka. Settings: `brokers`, `group`, `topic`, `handler`: `copies` says each value,
// `holds` never returns, `fails` fails at the value "bad". Prints `starting`, `running`, and the values it is given.
import { defineService, run, text, topic } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

export interface KafkaSettings {
  readonly brokers: readonly string[]
  readonly group: string
  readonly topic: string
  readonly handler: 'copies' | 'holds' | 'fails'
}

const {
  brokers,
  group,
  topic: name,
  handler,
} = JSON.parse(process.argv[2] ?? '{}') as KafkaSettings
const service = defineService(group, {
  ...stopsAtFailure,
  inputs: [topic(name, { key: text, value: text })],
  handle({ value }) {
    console.log(value)
    if (handler === 'fails' && value === 'bad') throw new Error('always')
    return handler === 'holds' ? new Promise<undefined>(() => {}) : undefined
  },
})
const starting = run(service, {
  broker: kafka({ brokers, sessionTimeout: '6s' }),
  commitInterval: 0,
  drainTimeout: '5s',
})
// By now the signals are watched.
console.log('starting')
const runtime = await starting
console.log('running')
await runtime.done
