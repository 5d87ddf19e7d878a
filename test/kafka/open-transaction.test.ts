import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { KafkaSettings } from '../../src/kafka/index.ts'
import type { AssignedPartition, Broker } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually, within } from '../../src/testing/eventually.ts'
import { Child } from '../crash/child-process.ts'
import { connection, idle, makeTopic, record, uniqueName } from './support.ts'
import { pollingMember, positionOf, readTexts } from './transaction-support.ts'

/** A topic to read and one to write, and a process that has a transaction with both. */
async function openTransaction(
  broker: Broker,
  settings: KafkaSettings,
): Promise<{ readonly input: string; readonly output: string; readonly child: Child }> {
  const [input, output] = [uniqueName('open-in'), uniqueName('open-out')]
  await makeTopic(broker, input, 1)
  await makeTopic(broker, output, 1)
  const child = new Child('kafka/open-transaction-process.ts', { input, output, settings })
  await child.says('open')
  return { input, output, child }
}

/** What comes behind all that there is. */
async function mark(broker: Broker, topic: string): Promise<void> {
  const producer = await broker.producer()
  assert.deepEqual(await producer.send([record(topic, { text: 'mark' })]), [])
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
  const { input, output, child } = await openTransaction(broker, {})
  await child.kill()
  await mark(broker, output)
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
  const settings = { 'transaction.timeout.ms': 600_000 }
  const { input, output, child } = await openTransaction(broker, settings)
  await child.kill()
  await mark(broker, output)
  await broker.transactionalProducer?.(input)
  assert.deepEqual(await readTexts(broker, output, 1), ['mark'])
  assert.equal((await firstAssigned(broker, input)).committed, undefined)
})

it('a transaction of a process that stood still until others had its partitions is aborted', async (t) => {
  const broker = connection()
  t.after(() => broker.close())
  const { input, output, child } = await openTransaction(broker, {
    'transaction.timeout.ms': 1_000,
  })
  child.signal('SIGSTOP')
  const member = await pollingMember(broker, input)
  await member.commit([{ topic: input, partition: 0, offset: 7 }])
  child.signal('SIGCONT')
  assert.equal(await child.says(/^result/), 'result {"outcome":"aborted","refusals":[]}')
  assert.equal(await child.ended(), 0)
  await mark(broker, output)
  assert.deepEqual(await readTexts(broker, output, 1), ['mark'])
  assert.equal(await positionOf(broker, input), 7)
})
