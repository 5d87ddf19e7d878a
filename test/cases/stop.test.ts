import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import { defineService, json, type Logger, PolluxError, run, text, topic } from '../../src/index.ts'
import { eventually, memoryStore, testRuntime, within } from '../../src/testing/index.ts'
import { watchedBroker } from '../../src/testing/watched-broker.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { faultyStore } from './faulty-store.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const common = { signals: false, createTopics: true, commitInterval: 0, logger: silent } as const

const message = (key: string) => input.message({ key, value: 'x', partition: key === 'a' ? 0 : 1 })

async function brokerWith(...messages: readonly ReturnType<typeof message>[]) {
  const memory = sharedMemory()
  const broker = embeddedBroker({ memory })
  await broker.admin.createTopics([{ name: 'input', partitions: 2 }])
  const producer = await broker.producer()
  await producer.send(messages.map(encodeRecord))
  return { memory, broker }
}

async function committedSum(
  memory: ReturnType<typeof sharedMemory>,
  group: string,
): Promise<number> {
  const { offsets } = await embeddedBroker({ memory }).admin.group(group)
  return offsets.reduce((sum, { offset }) => sum + offset, 0)
}

test('case 58: a stop in idle polling drains at once', async () => {
  const { broker } = await brokerWith()
  const runtime = await run(defineService('idle', { inputs: [input], handle() {} }), {
    ...common,
    broker,
  })
  const start = performance.now()
  assert.deepEqual(await within('stop', runtime.stop(), 2_000), {
    outcome: 'drained',
    abandoned: 0,
  })
  assert.ok(performance.now() - start < 1_500)
})

test('case 58: a handler that waits for a long time is let finish; told to hurry, it gives up by its signal and is delivered again', async () => {
  const { broker, memory } = await brokerWith(message('a'), message('a'), message('b'))
  let waiting = 0
  const sleepy = defineService('sleepy', {
    ...stopsAtFailure,
    inputs: [input],
    async handle({ key }, { signal }) {
      if (key === 'b') return
      waiting += 1
      await new Promise((_, reject) => {
        const timer = setTimeout(reject, 300_000)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          reject(new Error('told to give up'))
        })
      })
    },
  })
  const runtime = await run(sleepy, { ...common, broker })
  await eventually('the handler waits', () => waiting === 1)
  await eventually(
    'the other key is committed',
    async () => (await committedSum(memory, 'sleepy')) === 1,
  )
  const stopped = runtime.stop()
  runtime.hurry()
  assert.deepEqual(await within('stop', stopped, 2_000), { outcome: 'aborted', abandoned: 1 })
  assert.equal(waiting, 1, 'nothing new was started')
  assert.equal(
    await committedSum(memory, 'sleepy'),
    1,
    'what was finished is committed, the other is not',
  )
})

test('case 58: a handler that never returns is left behind after drainTimeout, once', async () => {
  const { broker } = await brokerWith(message('a'), message('b'))
  let started = 0
  const stuck = defineService('stuck', {
    ...stopsAtFailure,
    inputs: [input],
    handle() {
      started += 1
      return new Promise<undefined>(() => {})
    },
  })
  const runtime = await run(stuck, { ...common, broker, drainTimeout: 600, stopTimeout: '20s' })
  await eventually('both wait', () => started === 2)
  const start = performance.now()
  assert.deepEqual(await within('stop', runtime.stop(), 10_000), {
    outcome: 'aborted',
    abandoned: 2,
  })
  const took = performance.now() - start
  assert.ok(
    took > 500 && took < 2_200,
    `took ${took} ms: drainTimeout and a second for those that were told`,
  )
})

const counting = defineService('counting', {
  ...stopsAtFailure,
  inputs: [input],
  state: json(z.number()),
  async handle(_, { state }) {
    await state.put(((await state.get()) ?? 0) + 1)
  },
})

for (const call of ['acquire', 'load', 'commit'] as const) {
  test(`case 58: a stop ends the wait for a store that does not answer: ${call}`, async () => {
    const { broker, memory } = await brokerWith(message('a'), message('a'))
    let asked = 0
    const store = faultyStore(memoryStore(), (now) => {
      if (now !== call) return undefined
      asked += 1
      return 'unreachable'
    })
    const runtime = await run(counting, { ...common, broker, store })
    await eventually('the store is asked several times', () => asked >= 3)
    const report = await within('stop', runtime.stop(), 2_000)
    // Before the store was read, nothing has started.
    assert.equal(report.outcome, call === 'commit' ? 'aborted' : 'drained')
    assert.equal(report.abandoned, { acquire: 0, load: 0, commit: 2 }[call])
    assert.equal(await committedSum(memory, 'counting'), 0)
  })
}

test('a store that comes back is waited for, and nothing is lost or doubled', async () => {
  let isAway = false
  let refused = 0
  const store = faultyStore(memoryStore(), () => {
    if (!isAway) return undefined
    refused += 1
    return 'unreachable'
  })
  await using runtime = await testRuntime(counting, { store })
  await runtime.send(message('a'))
  await runtime.settled()
  isAway = true
  await runtime.send(message('a'), message('a'), message('b'))
  for (let round = 0; round < 20; round += 1) {
    await runtime.clock.advance(5_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(refused > 3, 'it was asked again and again')
  isAway = false
  await runtime.clock.advance(10_000)
  await runtime.settled()
  assert.deepEqual([await runtime.state(counting, 'a'), await runtime.state(counting, 'b')], [3, 1])
})

test('a store that refuses for good fails the service', async () => {
  const { broker } = await brokerWith(message('a'))
  const broken = { ...faultyStore(memoryStore(), () => undefined) }
  broken.commit = () => Promise.reject(new PolluxError('POLLUX_STORE_FAILED', 'Disk full.'))
  const runtime = await run(counting, { ...common, broker, store: broken })
  await assert.rejects(within('end', runtime.done, 5_000), /Disk full/)
})

test('a failure while stopping is still told', async () => {
  const { broker } = await brokerWith(message('a'))
  let fail = (_: Error): void => {}
  const late = defineService('late', {
    ...stopsAtFailure,
    inputs: [input],
    handle: () => new Promise<undefined>((_, reject) => (fail = reject)),
  })
  let isStarted = false
  const watched = watchedBroker(broker, { polled: (count) => (isStarted ||= count > 0) })
  const runtime = await run(late, { ...common, broker: watched })
  await eventually('started', () => isStarted)
  const stopped = runtime.stop()
  fail(new Error('no luck'))
  await assert.rejects(within('end', stopped, 5_000), /no luck/)
})

test('a client that hangs in its native code ends in POLLUX_STOP_TIMEOUT', async () => {
  const { broker } = await brokerWith(message('a'))
  const hanging = watchedBroker(broker, {})
  hanging.close = () => new Promise(() => {})
  const runtime = await run(defineService('idle', { inputs: [input], handle() {} }), {
    ...common,
    broker: hanging,
    drainTimeout: 100,
    stopTimeout: 300,
  })
  await assert.rejects(within('end', runtime.stop(), 5_000), (error) => {
    assert.ok(PolluxError.is(error, 'POLLUX_STOP_TIMEOUT'))
    assert.match(error.message, /closing the broker connection/)
    return true
  })
})

test('a stop in the middle of starting leaves nothing open', async () => {
  for (const step of ['connect', 'producer', 'join'] as const) {
    const { broker } = await brokerWith()
    const reached = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    let isClosed = false
    const slow = watchedBroker(broker, {})
    const original = { ...slow }
    const held = async (): Promise<void> => {
      reached.resolve()
      await go.promise
    }
    if (step === 'connect') slow.connect = () => held().then(() => original.connect())
    if (step === 'producer') slow.producer = () => held().then(() => original.producer())
    if (step === 'join') slow.join = (...given) => held().then(() => original.join(...given))
    slow.close = async () => {
      isClosed = true
      await original.close()
    }
    const abort = new AbortController()
    const starting = run(defineService('idle', { inputs: [input], handle() {} }), {
      ...common,
      broker: slow,
      signal: abort.signal,
    })
    await reached.promise
    abort.abort()
    go.resolve()
    const runtime = await within(`run, stopped at ${step}`, starting, 2_000)
    assert.deepEqual(await within('done', runtime.done, 2_000), {
      outcome: 'drained',
      abandoned: 0,
    })
    assert.ok(isClosed)
  }
})
