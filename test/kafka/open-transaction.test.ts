import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { KafkaSettings } from '../../src/kafka/index.ts'
import type { AssignedPartition, Broker } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually, within } from '../../src/testing/eventually.ts'
import { Child } from '../crash/child-process.ts'
import { connection, idle, makeTopic, record, uniqueName } from './support.ts'
import { readTexts } from './transaction-support.ts'

/** A topic to read and one to write, and a transaction with both that a killed process has left open. */
async function leftOpen(
  broker: Broker,
  settings: KafkaSettings,
): Promise<{ readonly input: string; readonly output: string }> {
  const [input, output] = [uniqueName('open-in'), uniqueName('open-out')]
  await makeTopic(broker, input, 1)
  await makeTopic(broker, output, 1)
  const child = new Child('kafka/open-transaction-process.ts', { input, output, settings })
  await child.says('open')
  await child.kill()
  const producer = await broker.producer()
  assert.deepEqual(await producer.send([record(output, { text: 'mark' })]), [])
  return { input, output }
}

async function firstAssigned(broker: Broker, topic: string): Promise<AssignedPartition> {
  let found: AssignedPartition | undefined
  const member = await broker.join(
    { group: topic, topics: [topic], start: 'earliest', logger: silent },
    {
      ...idle,
      async assigned([first]) {
        found = first
        return []
      },
    },
  )
  return await eventually('the partition comes', async () => (await member.poll(1), found), {
    deadline: 45_000,
  })
}

it('a transaction that a killed process has left open holds up readers and the group until its time is over', async (t) => {
  const broker = connection()
  t.after(() => broker.close())
  // The client's own default is a minute, and the broker looks every ten seconds: with it, the deadlines are missed.
  const { input, output } = await leftOpen(broker, {})
  const [assigned, texts] = await within(
    'both',
    Promise.all([firstAssigned(broker, input), readTexts(broker, output, 1)]),
    45_000,
  )
  assert.deepEqual(texts, ['mark'])
  assert.equal(assigned.committed, undefined)
  assert.equal(assigned.start, 0)
})

it('a producer with the id of a killed process ends at once what that has left open', async (t) => {
  const broker = connection()
  t.after(() => broker.close())
  const { input, output } = await leftOpen(broker, { 'transaction.timeout.ms': 600_000 })
  await broker.transactionalProducer?.(input)
  assert.deepEqual(await readTexts(broker, output, 1), ['mark'])
  assert.equal((await firstAssigned(broker, input)).committed, undefined)
})
