import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { bytes, defineService, PolluxError, text, topic } from '../../src/index.ts'
import { ManualClock, memoryStore, testRuntime } from '../../src/testing/index.ts'

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

/** A store or broker that outlives a runtime. */
function kept<T extends object>(given: T): T {
  return new Proxy(given, {
    get: (target, name) => {
      if (name === 'close') return async () => {}
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('a service starts where its store says, whatever the group has', async () => {
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
  await member.poll(1).then(() => member.commit([{ topic: 'input', partition: 0, offset: 0 }]))
  await member.leave()
  await using runtime = await testRuntime(count, { broker, store })
  await runtime.send(message)
  await runtime.settled()
  assert.equal(await runtime.state(count, 'k'), '4')
})

test('a ledger ahead of its log stops the service instead of skipping records', async () => {
  const store = kept(memoryStore())
  {
    await using runtime = await testRuntime(count, { store })
    await runtime.send(message, message)
    await runtime.settled()
  }
  await using runtime = await testRuntime(count, {
    store,
    broker: embeddedBroker({ clock: new ManualClock() }),
  })
  await assert.rejects(runtime.settled(), (error) => {
    assert.ok(PolluxError.is(error, 'POLLUX_OFFSET_RESET'), String(error))
    assert.match(error.message, /input\/0.*up to 0.*found 2|Found 2/i)
    return true
  })
})

test('records that retention took are named, and reading goes on at the first that is left', async () => {
  const [broker, store] = [kept(embeddedBroker({ clock: new ManualClock() })), kept(memoryStore())]
  {
    await using runtime = await testRuntime(count, { broker, store })
    await runtime.send(message)
    await runtime.settled()
    const producer = await broker.producer()
    await runtime.stop()
    const record = {
      topic: 'input',
      partition: 0,
      key: Buffer.from('k'),
      value: Buffer.from('v'),
      headers: [],
      timestamp: undefined,
    }
    await producer.send(Array.from({ length: 8 }, () => record))
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
