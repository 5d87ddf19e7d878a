import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import {
  killBroker,
  restartBroker,
  startCluster,
  stopCluster,
} from '../../scripts/kafka/cluster.ts'
import { eventually, within } from '../../src/testing/eventually.ts'
import { connection, makeTopic, record, uniqueName } from './support.ts'
import { gate, pollingMember, positionOf, readTexts } from './transaction-support.ts'

// A cluster of our own, since its broker is killed.
const port = 17_800
const cluster = await startCluster({ port, brokers: 1, fresh: true })
after(() => stopCluster(port))

const patient = { deadline: 90_000 }
const at = (topic: string, offset: number) => ({ topic, partition: 0, offset })

function connect(transactionTimeout: number) {
  return connection({
    brokers: cluster.bootstrap,
    sessionTimeout: '30s',
    producer: { 'transaction.timeout.ms': transactionTimeout },
  })
}

// With a second, the broker aborts what it finds open when it is back; with a minute, it goes on with it.
for (const timeout of [1_000, 60_000]) {
  it(`each record is there once, in order, through kills of the broker; transactions may take ${timeout} ms`, async (t) => {
    const broker = connect(timeout)
    t.after(() => broker.close())
    const [input, output] = [uniqueName('in'), uniqueName('out')]
    await makeTopic(broker, input, 1)
    await makeTopic(broker, output, 1)
    const member = await pollingMember(broker, input)
    const producer = await broker.transactionalProducer?.(input)
    assert.ok(producer)
    let isOver = false
    let done = 0
    const working = (async () => {
      while (!isOver) {
        const records = Array.from({ length: 20 }, (_, index) =>
          record(output, { text: `${done + index}` }),
        )
        const { outcome } = await producer.transact(records, [at(input, done + 20)], member)
        // Without a refusal it may be aborted at any time; the caller tries again.
        if (outcome === 'committed') done += 20
      }
    })()
    for (let round = 0; round < 2; round += 1) {
      const before = done
      await eventually('some are committed', () => done >= before + 200, patient)
      await killBroker(port, 1)
      await restartBroker(port, 1)
    }
    const restarted = done
    await eventually('it goes on', () => done >= restarted + 200, patient)
    isOver = true
    await within('transact', working, 60_000)
    const expected = Array.from({ length: done }, (_, index) => `${index}`)
    assert.deepEqual(await readTexts(broker, output, done), expected)
    await eventually('the position', async () => (await positionOf(broker, input)) === done)
  })
}

for (const call of ['sendOffsetsToTransaction', 'commitTransaction'] as const) {
  it(`a transaction whose time is over before ${call} is made again`, async (t) => {
    const broker = connect(1_000)
    t.after(() => broker.close())
    const [input, output] = [uniqueName('in'), uniqueName('out')]
    await makeTopic(broker, input, 1)
    await makeTopic(broker, output, 1)
    const member = await pollingMember(broker, input)
    const producer = await broker.transactionalProducer?.(input)
    assert.ok(producer)
    const { reached, open } = await gate(call)
    const result = producer.transact([record(output, { text: 'a' })], [at(input, 1)], member)
    await within(call, reached)
    await killBroker(port, 1)
    await restartBroker(port, 1)
    // A record behind it can be read: it was aborted.
    const plain = await broker.producer()
    assert.deepEqual(await plain.send([record(output, { text: 'b' })]), [])
    assert.deepEqual(await readTexts(broker, output, 1), ['b'])
    open()
    assert.deepEqual(await within('transact', result, 60_000), { outcome: 'committed' })
    assert.deepEqual(await readTexts(broker, output, 2), ['b', 'a'])
  })
}

it('closing ends in time although the broker is down', async (t) => {
  for (const call of ['writing', 'sendOffsetsToTransaction', 'commitTransaction'] as const) {
    const broker = connect(60_000)
    t.after(() => broker.close())
    const [input, output] = [uniqueName('in'), uniqueName('out')]
    await makeTopic(broker, input, 1)
    await makeTopic(broker, output, 1)
    const member = await pollingMember(broker, input)
    const producer = await broker.transactionalProducer?.(input)
    assert.ok(producer)
    const transact = (): Promise<unknown> =>
      producer.transact([record(output, { text: 'a' })], [at(input, 1)], member)
    await transact()
    const held = call === 'writing' ? undefined : await gate(call)
    if (held === undefined) await killBroker(port, 1)
    const result = assert.rejects(transact(), { code: 'POLLUX_BROKER_CLOSED' })
    if (held !== undefined) {
      await within(call, held.reached)
      await killBroker(port, 1)
      held.open()
    }
    await within('close', Promise.all([producer.close(), result]), 30_000)
    await within('close the connection', broker.close(), 30_000)
    await restartBroker(port, 1)
  }
})
