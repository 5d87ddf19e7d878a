import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { type Broker, bytes, defineService, PolluxError, text, topic } from '../../src/index.ts'
import { ManualClock, memoryStore, testRuntime } from '../../src/testing/index.ts'
import { kept } from './kept.ts'

const input = topic('input', {
  key: text,
  value: bytes,
  create: { partitions: 1, config: { 'pollux.retention.records': '5' } },
})
const count = defineService('count', {
  inputs: [input],
  state: text,
  async handle(_, { state }) {
    await state.put(String(Number((await state.get()) ?? 0) + 1))
  },
})
const message = input.message({ key: 'k', value: Buffer.from('v') })

async function fill(broker: Broker, count: number): Promise<void> {
  await broker.connect()
  await broker.admin.createTopics([{ name: 'input', partitions: 1, config: input.create.config }])
  const producer = await broker.producer()
  const record = {
    topic: 'input',
    partition: 0,
    key: Buffer.from('k'),
    value: Buffer.from('v'),
    headers: [],
    timestamp: undefined,
  }
  assert.deepEqual(await producer.send(Array.from({ length: count }, () => record)), [])
}

test('R4: a service starts where its store says, whatever the group has', async () => {
  const [broker, store] = [kept(embeddedBroker({ clock: new ManualClock() })), kept(memoryStore())]
  {
    await using runtime = await testRuntime(count, { broker, store })
    await runtime.send(message, message, message)
    await runtime.settled()
  }
  // A crash between the store's commit and the group's leaves the group behind; here it is put there.
  const member = await broker.join(
    {
      group: 'count',
      topics: ['input'],
      start: 'earliest',
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    },
    { assigned: async () => [], revoked: async () => {}, lost() {} },
  )
  const behind = { topic: 'input', partition: 0, offset: 0, metadata: 'pollux/1;ledger;at=0' }
  await member.poll(1).then(() => member.commit([behind]))
  await member.leave()
  await using runtime = await testRuntime(count, { broker, store })
  await runtime.send(message)
  await runtime.settled()
  assert.equal(await runtime.state(count, 'k'), '4')
})

test('R5: a store of another broker stops the service instead of skipping records', async () => {
  const store = kept(memoryStore())
  {
    await using runtime = await testRuntime(count, { store })
    await runtime.send(message, message)
    await runtime.settled()
  }
  // The other broker has as many records in its topic of that name: positions alone would not tell them apart.
  const other = kept(embeddedBroker({ clock: new ManualClock() }))
  await fill(other, 3)
  await using runtime = await testRuntime(count, { store, broker: other })
  await assert.rejects(runtime.settled(), (error) => {
    assert.ok(PolluxError.is(error, 'POLLUX_OFFSET_RESET'), String(error))
    assert.match(error.message, /another topic of the name input/)
    return true
  })
  assert.deepEqual((await other.admin.group('count')).offsets, [])
})

test('R5: a position behind the end of the log stops the service instead of waiting there', async () => {
  const [broker, store] = [kept(embeddedBroker({ clock: new ManualClock() })), kept(memoryStore())]
  await fill(broker, 2)
  const topicId = (await broker.admin.topicIds(['input'])).get('input') ?? ''
  await store.open()
  const [row] = await store.acquire('count', [{ topic: 'input', partition: 0, topicId }])
  assert.ok(row)
  await store.commit({
    service: 'count',
    marks: [],
    states: [],
    ledger: [{ ...row, next: 7, outputs: [], acknowledged: undefined }],
  })
  await using runtime = await testRuntime(count, { broker, store })
  await assert.rejects(runtime.settled(), (error) => {
    assert.ok(PolluxError.is(error, 'POLLUX_OFFSET_RESET'), String(error))
    assert.match(error.message, /input\/0.*up to 2.*Found 7/)
    return true
  })
})

test('records that retention took are named, and reading goes on at the first that is left', async () => {
  const [broker, store] = [kept(embeddedBroker({ clock: new ManualClock() })), kept(memoryStore())]
  {
    await using runtime = await testRuntime(count, { broker, store })
    await runtime.send(message)
    await runtime.settled()
    await runtime.stop()
    await fill(broker, 8)
  }
  const warnings: object[] = []
  const logger = {
    debug() {},
    info() {},
    warn: (fields: object) => void warnings.push(fields),
    error() {},
  }
  await using runtime = await testRuntime(count, { broker, store, logger })
  await runtime.settled()
  assert.equal(await runtime.state(count, 'k'), '6')
  assert.ok(
    warnings.some((fields) => 'missed' in fields && fields.missed === 3),
    JSON.stringify(warnings),
  )
})
