import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import { Waits } from '../../src/engine/waits.ts'
import { defineService, run, text, topic } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually, ManualClock, memoryStore } from '../../src/testing/index.ts'
import { faultyStore } from '../cases/faulty-store.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const counting = defineService('counting', {
  inputs: [input],
  state: text,
  async handle(_, { state }) {
    await state.put(`${Number((await state.get()) ?? 0) + 1}`)
  },
})

test('what several wait for is told once, until the last one has it', () => {
  const waits = new Waits()
  const [first, second] = [waits.begin('the database'), waits.begin('the database')]
  const other = waits.begin('the broker')
  assert.deepEqual(waits.all, ['the database', 'the broker'])
  first()
  other()
  assert.deepEqual(waits.all, ['the database'])
  second()
  assert.deepEqual(waits.all, [])
})

test('a service is not ready while its store is away, keeps its place in the group, and goes on by itself', async () => {
  const clock = new ManualClock()
  const broker = embeddedBroker({ clock })
  const store = memoryStore()
  let away: 'load' | 'commit' | undefined
  const runtime = await run(counting, {
    broker,
    store: faultyStore(store, (call) => (call === away ? 'unreachable' : undefined)),
    clock,
    logger: silent,
    signals: false,
    createTopics: true,
    commitInterval: 0,
  })
  const producer = await broker.producer()
  const send = () => producer.send([encodeRecord(input.message({ key: 'a', value: '' }))])
  const stored = async () =>
    (await store.load('counting', [Buffer.from('a')], [])).states[0]?.value?.toString()
  assert.deepEqual(runtime.readiness, { isReady: true, waitingFor: [] })
  let count = 0
  for (const call of ['load', 'commit'] as const) {
    away = call
    await send()
    const { waitingFor } = await eventually('it is not ready', () =>
      runtime.readiness.isReady ? undefined : runtime.readiness,
    )
    assert.deepEqual(waitingFor, [call === 'load' ? 'reading state' : 'committing to the store'])
    const [member] = (await broker.admin.group('counting')).members
    assert.equal(member?.partitions.length, 1)
    away = undefined
    count += 1
    await eventually('it goes on', async () => {
      await clock.advance(1_000)
      return (await stored()) === `${count}` && runtime.readiness.isReady
    })
  }
  const stopped = runtime.stop()
  assert.deepEqual(runtime.readiness.waitingFor, ['stopping'])
  await stopped
})
