import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import {
  killBroker,
  restartBroker,
  startCluster,
  stopCluster,
} from '../../scripts/kafka/cluster.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually, within } from '../../src/testing/eventually.ts'
import { connection, idle, keepingLogger, makeTopic, record, uniqueName } from './support.ts'

// A cluster of our own, since its brokers are killed.
const port = 18_600
const cluster = await startCluster({ port, brokers: 1, fresh: true })
after(() => stopCluster(port))

const patient = { deadline: 60_000 }

it('a producer loses nothing and keeps the order while the broker is killed and restarted', async () => {
  const { lines, logger } = keepingLogger()
  const broker = connection({ brokers: cluster.bootstrap, logger })
  const topic = await makeTopic(broker, uniqueName('killed'), 2)
  const producer = await broker.producer()
  let isOver = false
  let sent = 0
  const sending = (async () => {
    while (!isOver) {
      const batch = Array.from({ length: 50 }, (_, index) =>
        record(topic, { partition: index % 2, text: `${sent + index}` }),
      )
      assert.deepEqual(await producer.send(batch), [])
      sent += batch.length
    }
  })()
  for (let round = 0; round < 2; round += 1) {
    const before = sent
    await eventually('some batches are written', () => sent > before + 500, patient)
    await killBroker(port, 1)
    await restartBroker(port, 1)
  }
  const restarted = sent
  await eventually('sending goes on', () => sent > restarted + 500, patient)
  isOver = true
  await sending
  const reader = await broker.reader([0, 1].map((partition) => ({ topic, partition, offset: 0 })))
  const read: [number[], number[]] = [[], []]
  await eventually(
    'all is read',
    async () => {
      for (const { partition, value } of await reader.poll(1_000))
        read[partition as 0 | 1].push(Number(value))
      return read[0].length + read[1].length >= sent
    },
    patient,
  )
  for (const partition of [0, 1] as const) {
    const expected = Array.from({ length: sent / 2 }, (_, index) => 2 * index + partition)
    assert.deepEqual(read[partition], expected, 'each once, in order')
  }
  assert.ok(
    lines.some((line) => line.startsWith('warn') && line.includes('does not answer')),
    'the outage is told',
  )
  await broker.close()
})

it('a member stays through a kill of the broker: it reads on, and its commits count', async () => {
  const { lines, logger } = keepingLogger()
  const broker = connection({ brokers: cluster.bootstrap })
  const topic = await makeTopic(broker, uniqueName('member'), 2)
  const producer = await broker.producer()
  const member = await broker.join(
    { group: topic, topics: [topic], start: 'earliest', logger },
    idle,
  )
  let next = 0
  const take = async (): Promise<void> => {
    for (const { partition, offset } of await member.poll(100))
      if (partition === 0) next = offset + 1
  }
  await producer.send([record(topic, { text: 'before' })])
  await eventually('the first record comes', async () => (await take(), next === 1), patient)
  await member.commit([{ topic, partition: 0, offset: 1 }])
  await killBroker(port, 1)
  const commit = member.commit([{ topic, partition: 0, offset: 1 }])
  assert.deepEqual(await member.poll(10), [], 'an outage is not an error')
  await eventually(
    'the outage is told',
    async () => (await take(), lines.some((line) => line.startsWith('warn'))),
    patient,
  )
  await restartBroker(port, 1)
  const sending = producer.send([record(topic, { text: 'after' })])
  await eventually(
    'the record sent afterwards comes',
    async () => (await take(), next === 2),
    patient,
  )
  assert.deepEqual(await sending, [])
  await within('the commit made during the outage', commit, 60_000)
  await within('a commit afterwards', member.commit([{ topic, partition: 0, offset: 2 }]), 60_000)
  const { offsets } = await broker.admin.group(topic)
  assert.deepEqual(offsets, [{ topic, partition: 0, offset: 2 }])
  const told = lines.filter((line) => line.startsWith('warn') && line.includes('does not answer'))
  assert.equal(told.length, 1, told.join('\n'))
  assert.ok(lines.some((line) => line.includes('answers again')))
  await broker.close()
})

it('closing ends in time although the broker is down, and what waits is rejected', async () => {
  const broker = connection({ brokers: cluster.bootstrap })
  const topic = await makeTopic(broker, uniqueName('closing'), 1)
  const producer = await broker.producer()
  let isAssigned = false
  const member = await broker.join(
    { group: topic, topics: [topic], start: 'earliest', logger: silent },
    {
      ...idle,
      async assigned() {
        isAssigned = true
        return []
      },
    },
  )
  await producer.send([record(topic, { text: 'x' })])
  await eventually(
    'the partition is assigned',
    async () => (await member.poll(1), isAssigned),
    patient,
  )
  await killBroker(port, 1)
  const sending = assert.rejects(producer.send([record(topic, { text: 'y' })]), {
    code: 'POLLUX_BROKER_CLOSED',
  })
  const looking = assert.rejects(broker.admin.topics(), (error: Error) => error instanceof Error)
  const start = performance.now()
  await within('close', broker.close(), 30_000)
  await within('what waited', Promise.all([sending, looking]), 30_000)
  assert.ok(performance.now() - start < 25_000)
  await restartBroker(port, 1)
})
