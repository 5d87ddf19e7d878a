import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import {
  defineService,
  type Order,
  PolluxError,
  type Service,
  text,
  topic,
} from '../../src/index.ts'
import { eventually, testRuntime } from '../../src/testing/index.ts'
import { watchedBroker } from '../../src/testing/watched-broker.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

/** Several runs over one memory; remembers every position that was committed. */
class Story {
  readonly memory = sharedMemory()
  readonly commits: (readonly [partition: number, offset: number])[] = []

  async send(
    ...records: readonly (readonly [partition: number, key: string, value: string])[]
  ): Promise<void> {
    const broker = embeddedBroker({ memory: this.memory })
    await broker.admin.createTopics([{ name: 'input', partitions: 2 }])
    const producer = await broker.producer()
    await producer.send(
      records.map(([partition, key, value]) => {
        return {
          topic: 'input',
          partition,
          key: Buffer.from(key),
          value: Buffer.from(value),
          headers: [],
          timestamp: undefined,
        }
      }),
    )
  }

  /** Runs until all is handled or something stops it. Resolves to what stopped it. */
  async run(service: Service): Promise<unknown> {
    const broker = watchedBroker(embeddedBroker({ memory: this.memory }), {
      committing: (positions) => {
        for (const { partition, offset } of positions) this.commits.push([partition, offset])
      },
    })
    const runtime = await testRuntime(service, { broker })
    try {
      return await runtime.settled().then(
        () => undefined,
        (error: unknown) => error,
      )
    } finally {
      await runtime.stop().catch(() => {})
    }
  }

  async committed(service: Service): Promise<Record<number, number>> {
    const { offsets } = await embeddedBroker({ memory: this.memory }).admin.group(service.name)
    return Object.fromEntries(offsets.map(({ partition, offset }) => [partition, offset]))
  }
}

test('case 1: a handler that fails on the very first message of a new group skips nothing', async () => {
  const story = new Story()
  await story.send(...[0, 1, 2, 3, 4].map((n) => [0, `k${n}`, `o${n}`] as const))
  const handled: string[] = []
  let isBroken = true
  const service = defineService('first', {
    ...stopsAtFailure,
    inputs: [input],
    concurrency: 1,
    handle({ value }) {
      handled.push(value)
      if (isBroken) throw new Error('not yet')
    },
  })
  assert.ok(PolluxError.is(await story.run(service), 'POLLUX_HANDLER_FAILED'))
  assert.deepEqual(await story.committed(service), { 0: 0, 1: 0 }, 'only the start position')
  isBroken = false
  assert.equal(await story.run(service), undefined)
  assert.deepEqual(handled, ['o0', 'o0', 'o1', 'o2', 'o3', 'o4'])
  assert.deepEqual(await story.committed(service), { 0: 5, 1: 0 })
})

test('case 1: the same when the group starts at the latest: what came after the start position is not lost', async () => {
  const story = new Story()
  await story.send([0, 'old', 'old'])
  const handled: string[] = []
  let isBroken = true
  const service = defineService('latest', {
    ...stopsAtFailure,
    inputs: [input],
    start: 'latest',
    handle({ value }) {
      handled.push(value)
      if (isBroken) throw new Error('not yet')
    },
  })
  const broker = embeddedBroker({ memory: story.memory })
  const runtime = await testRuntime(service, { broker })
  await eventually(
    'the start position is committed',
    async () => (await story.committed(service))[0] === 1,
  )
  await story.send([0, 'new', 'new'])
  await assert.rejects(runtime.settled(), /not yet/)
  await runtime.stop().catch(() => {})
  isBroken = false
  assert.equal(await story.run(service), undefined)
  assert.deepEqual(handled, ['new', 'new'])
})

const orders: readonly Order[] = ['key', 'partition', 'none']

for (const order of orders) {
  for (const isAsync of [false, true]) {
    const title = `case 2: a message that always fails is never committed over; order '${order}', ${isAsync ? 'waiting' : 'immediate'} handlers`
    test(title, async () => {
      const story = new Story()
      const values = ['o0', 'bad', 'o2', 'o3', 'o4', 'o5']
      await story.send(
        ...values.map((value, n) => [0, `k${n % 4}`, value] as const),
        ...Array.from({ length: 50 }, (_, n) => [1, `k${n}`, `other ${n}`] as const),
      )
      const handled: string[] = []
      const service = defineService('stopping', {
        ...stopsAtFailure,
        inputs: [input],
        outputs: [output],
        order,
        async handle({ key, value }) {
          handled.push(value)
          if (isAsync) await new Promise((resolve) => setTimeout(resolve, value === 'bad' ? 30 : 5))
          if (value === 'bad') throw new Error('always')
          return output.message({ key, value })
        },
      })
      for (let round = 1; round <= 3; round += 1) {
        const error = await story.run(service)
        assert.ok(PolluxError.is(error, 'POLLUX_HANDLER_FAILED'))
        assert.match(error.message, /input\/0\/1 failed: always/)
        assert.deepEqual((await story.committed(service))[0], 1, 'in front of the failed message')
        assert.equal(
          handled.filter((value) => value === 'bad').length,
          round,
          'delivered again after each restart',
        )
      }
      assert.ok(story.commits.every(([partition, offset]) => partition !== 0 || offset <= 1))
      assert.equal(
        (await story.committed(service))[1],
        50,
        'the other partition has finished what it had and committed it',
      )
      if (order === 'partition')
        assert.ok(!handled.includes('o2'), 'nothing of the partition overtakes it')
      if (order === 'key') assert.ok(!handled.includes('o5'), 'nothing of its key overtakes it')
    })
  }
}
