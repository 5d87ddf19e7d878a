import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PolluxError } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { eventually } from '../../src/testing/index.ts'
import { Child } from '../crash/child-process.ts'
import type { KafkaSettings } from './kafka-process.ts'

const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
const mark = `${process.pid}-${Date.now()}`
const broker = kafka({ brokers })

before(() => broker.connect())
after(() => broker.close())

/** A topic of one or more partitions with these values; the key is the value. */
async function topicWith(
  name: string,
  ...partitions: readonly (readonly string[])[]
): Promise<string> {
  const topic = `${name}-${mark}`
  await broker.admin.createTopics([{ name: topic, partitions: partitions.length }])
  const producer = await broker.producer()
  await producer.send(
    partitions.flatMap((values, partition) =>
      values.map((value) => ({
        topic,
        partition,
        key: Buffer.from(value),
        value: Buffer.from(value),
        headers: [],
        timestamp: undefined,
      })),
    ),
  )
  await producer.close()
  return topic
}

function start(
  topic: string,
  handler: KafkaSettings['handler'],
  at: readonly string[] = brokers,
): Child {
  return new Child('cases/kafka-process.ts', {
    brokers: at,
    group: `g-${topic}`,
    topic,
    handler,
  } satisfies KafkaSettings)
}

async function committed(topic: string): Promise<Record<number, number>> {
  const { offsets } = await broker.admin.group(`g-${topic}`)
  return Object.fromEntries(offsets.map(({ partition, offset }) => [partition, offset]))
}

test('case 6: settings that commit before the work is done are refused, in any spelling, before anything connects', () => {
  const settings = ['enable.auto.commit', 'auto.commit.enable', 'enable.auto.offset.store']
  for (const name of settings) {
    for (const value of [true, 'true', 'True', ' true', '1', 1, 't', 'yes', 'on']) {
      for (const group of ['client', 'consumer'] as const) {
        assert.throws(
          () => kafka({ brokers, [group]: { [name]: value } }),
          (error) =>
            PolluxError.is(error, 'POLLUX_SETTING_REFUSED') && error.message.includes(name),
          `${group} ${name}=${value}`,
        )
      }
    }
  }
})

test('case 6: while a handler runs, nothing is committed; after a kill its message is delivered again', async () => {
  const topic = await topicWith('hold', ['one'])
  const first = start(topic, 'holds')
  await first.says('one')
  await eventually('the start position is committed', async () => (await committed(topic))[0] === 0)
  // Longer than any timer that could commit here: twice the client's own interval would be 10 s, were it on; the
  // engine's is 0.
  const until = performance.now() + 7_000
  await eventually(
    'seven seconds are over',
    async () => {
      assert.deepEqual(await committed(topic), { 0: 0 })
      return performance.now() > until
    },
    { every: 500 },
  )
  await first.kill()
  assert.deepEqual(await committed(topic), { 0: 0 })
  const second = start(topic, 'copies')
  await second.says('one')
  await eventually('it is committed', async () => (await committed(topic))[0] === 1)
  second.signal('SIGTERM')
  assert.equal(await second.ended(10_000), 0, second.errors)
})

test('case 2: a message that always fails holds its partition, the others finish; the process ends with 1', async () => {
  const topic = await topicWith(
    'bad',
    ['o0', 'bad', 'o2'],
    Array.from({ length: 30 }, (_, n) => `other ${n}`),
  )
  for (let round = 1; round <= 2; round += 1) {
    const child = start(topic, 'fails')
    assert.equal(await child.ended(), 1, child.errors)
    assert.match(child.errors, /POLLUX_HANDLER_FAILED/)
    assert.ok(child.lines.includes('bad'), 'it was delivered')
    assert.equal((await committed(topic))[0], 1)
    if (round === 2) assert.ok(!child.lines.includes('o0'))
  }
})

test('case 1: a handler that fails on the very first message of a new group skips nothing', async () => {
  const topic = await topicWith('first', ['bad', 'o1', 'o2'])
  const failing = start(topic, 'fails')
  assert.equal(await failing.ended(), 1, failing.errors)
  assert.deepEqual(await committed(topic), { 0: 0 })
  const working = start(topic, 'copies')
  for (const value of ['bad', 'o1', 'o2']) await working.says(value)
  await eventually('all is committed', async () => (await committed(topic))[0] === 3)
  working.signal('SIGTERM')
  assert.equal(await working.ended(10_000), 0, working.errors)
})

async function endsSoon(child: Child, signal: NodeJS.Signals, limit: number): Promise<void> {
  const begin = performance.now()
  child.signal(signal)
  assert.equal(await child.ended(30_000), 0, child.errors)
  const took = performance.now() - begin
  assert.ok(took < limit, `took ${took} ms`)
}

test('case 58: SIGTERM in idle polling ends with 0, and the member has left the group', async () => {
  const topic = await topicWith('idle', ['one'])
  const child = start(topic, 'copies')
  await child.says('one')
  await eventually('it is committed', async () => (await committed(topic))[0] === 1)
  await endsSoon(child, 'SIGTERM', 3_000)
  const { members } = await broker.admin.group(`g-${topic}`)
  assert.deepEqual(members, [])
})

test('case 58: a signal while it starts, joins or has just joined ends with 0', async () => {
  const topic = await topicWith('early', ['one'])
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    for (const line of ['starting', 'running']) {
      const child = start(topic, 'copies')
      await child.says(line)
      await endsSoon(child, signal, 4_000)
    }
  }
})

test('case 58: SIGTERM while no broker answers ends with 0', async () => {
  const child = start('nowhere', 'copies', ['127.0.0.1:1'])
  await child.says('starting')
  // Time for the client to have begun.
  const until = performance.now() + 1_500
  await eventually('it tries', () => performance.now() > until)
  // An attempt of the client cannot be called off; it takes up to 4 s.
  await endsSoon(child, 'SIGTERM', 6_000)
})
