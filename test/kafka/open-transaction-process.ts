import type { KafkaSettings } from '../../src/kafka/index.ts'
import { connection, record } from './support.ts'
import { gate, pollingMember } from './transaction-support.ts'

/**
 * A process with a transaction that it does not commit: it says so by the line `open`, and waits to be killed. Stopped
 * and continued, it goes on and says what came of it.
 */
const { input, output, settings } = JSON.parse(process.argv[2] ?? '{}') as {
  readonly input: string
  readonly output: string
  readonly settings: KafkaSettings
}
const broker = connection({ sessionTimeout: '6s', producer: settings })
const member = await pollingMember(broker, input)
const producer = await broker.transactionalProducer?.(input)
const { reached, open } = await gate('commitTransaction')
const result = producer?.transact(
  [record(output, { text: 'never' })],
  [{ topic: input, partition: 0, offset: 5 }],
  member,
)
await reached
process.once('SIGCONT', open)
console.log('open')
console.log(`result ${JSON.stringify(await result)}`)
await broker.close()
