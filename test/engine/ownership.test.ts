import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import {
  defineService,
  type OutputMessage,
  PolluxError,
  type Runtime,
  run,
  type Service,
  text,
  topic,
} from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import type { Store } from '../../src/ports/store.ts'
import { eventually, ManualClock, MemoryStoreData, memoryStore } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { type BrokerWatch, watchedBroker } from '../../src/testing/watched-broker.ts'
import { faultyStore, type StoreFault } from '../cases/faulty-store.ts'

const left = topic('left', { key: text, value: text, create: { partitions: 1 } })
const right = topic('right', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

const appending = defineService('appending', {
  inputs: [left, right],
  outputs: [output],
  state: text,
  async handle({ key, value }, { state }) {
    const next = `${(await state.get()) ?? ''}${value}`
    await state.put(next)
    return output.message({ key, value: next })
  },
})

const copying = defineService('copying', {
  inputs: [left],
  outputs: [output],
  publish: 'outbox',
  handle: ({ key, value }) => output.message({ key, value }),
})

/** A broker and a store that outlive the processes on them. */
class Scene {
  readonly memory = sharedMemory()
  readonly data = new MemoryStoreData()
  readonly clock = new ManualClock()
  readonly #runtimes: Runtime[] = []

  async start(
    service: Service,
    { watch = {}, store = (given) => given }: Doings = {},
  ): Promise<Runtime> {
    const runtime = await run(service, {
      broker: watchedBroker(embeddedBroker({ memory: this.memory, clock: this.clock }), watch),
      store: store(memoryStore(this.data, this.clock)),
      clock: this.clock,
      logger: silent,
      signals: false,
      createTopics: true,
      commitInterval: 0,
    })
    runtime.done.catch(() => {})
    this.#runtimes.push(runtime)
    return runtime
  }

  async send(...messages: readonly OutputMessage[]): Promise<void> {
    const broker = embeddedBroker({ memory: this.memory })
    await broker.admin.createTopics(
      [left, right, output].map(({ name }) => ({ name, partitions: 1 })),
    )
    const producer = await broker.producer()
    for (const message of messages) await producer.send([encodeRecord(message)])
    await producer.close()
  }

  /** The values in the output topic. */
  async outputs(): Promise<string[]> {
    const broker = embeddedBroker({ memory: this.memory })
    const [range] = await broker.admin.ranges(['output'])
    const reader = await broker.reader([{ topic: 'output', partition: 0, offset: 0 }])
    const values: string[] = []
    while (values.length < (range?.latest ?? 0))
      values.push(...(await reader.poll(100)).map(({ value }) => String(value)))
    await reader.close()
    return values
  }

  state(key: string): string | undefined {
    const name = JSON.stringify(['appending', Buffer.from(key).toString('base64')])
    return this.data.states.get(name)?.value?.toString()
  }

  row(service: Service, name = 'left') {
    return this.data.ledger.get(JSON.stringify([service.name, name, 0]))
  }

  /** Moves the clock, by `step` milliseconds each time, until something has come about. */
  async until(what: string, look: () => boolean | Promise<boolean>, step = 200): Promise<void> {
    await eventually(what, async () => {
      await this.clock.advance(step)
      return await look()
    })
  }

  async position(service: Service, name = 'left'): Promise<number | undefined> {
    const { offsets } = await embeddedBroker({ memory: this.memory }).admin.group(service.name)
    return offsets.find((one) => one.topic === name)?.offset
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#runtimes.map((runtime) => runtime.stop()))
  }
}

interface Doings {
  readonly watch?: BrokerWatch
  readonly store?: (store: Store) => Store
}

/** Goes wrong once, at the first commit. */
function once(fault: StoreFault): (store: Store) => Store {
  let isDone = false
  return (store) =>
    faultyStore(store, (call) => {
      if (call !== 'commit' || isDone) return undefined
      isDone = true
      return fault
    })
}

test('R2: a unit whose answer was lost is not stored again: the row of its partition says that it was', async () => {
  await using scene = new Scene()
  const runtime = await scene.start(copying, { store: once('lost answer') })
  await scene.send(left.message({ key: 'k', value: 'one' }))
  await scene.until('it is done', async () => (await scene.position(copying)) === 1)
  assert.deepEqual(await scene.outputs(), ['one'], 'one output, not two')
  assert.deepEqual([scene.row(copying)?.unit, scene.row(copying)?.next], [1, 1])
  assert.equal(runtime.counts[0]?.restarts, 1)
})

test('R8: a fenced owner that the group still knows takes its partition over again, and goes on', async () => {
  await using scene = new Scene()
  const runtime = await scene.start(appending, { store: once('taken over') })
  await scene.send(...['a', 'b'].map((value) => left.message({ key: 'k', value })))
  await scene.until('all is done', async () => (await scene.position(appending)) === 2)
  assert.equal(scene.state('k'), 'ab')
  assert.equal(scene.row(appending)?.epoch, 3, 'taken over by us, somebody else, and us again')
  assert.equal(runtime.counts[0]?.restarts, 1)
})

test('R8: a fenced owner that the group does not know any more lets its partition go', async () => {
  await using scene = new Scene()
  const refused: number[] = []
  let isFenced = false
  const store = (given: Store): Store =>
    faultyStore(given, (call) => {
      if (call !== 'commit') return undefined
      isFenced = true
      return 'taken over'
    })
  await scene.start(appending, {
    store,
    watch: {
      committing(positions) {
        if (!isFenced) return
        refused.push(...positions.map(({ offset }) => offset))
        throw new PolluxError('POLLUX_BROKER_REFUSED', 'The group has no such member.')
      },
    },
  })
  await scene.send(left.message({ key: 'k', value: 'a' }))
  await scene.until('its membership is asked for', () => refused.length > 0)
  for (let turns = 0; turns < 20; turns += 1) await scene.clock.advance(100)
  assert.equal(scene.row(appending)?.epoch, 2, 'it has not taken the partition back')
  assert.deepEqual([scene.state('k'), scene.row(appending)?.next], [undefined, undefined])
  assert.deepEqual([...new Set(refused)], [0], 'and tells the group nothing that is not stored')
})

test('R8: what another partition has built on the work of a fenced one is done again with it', async () => {
  await using scene = new Scene()
  const reached = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const fenced = once('taken over')
  const store = (given: Store): Store => {
    const faulty = fenced(given)
    return storeOver(faulty, {
      async commit(unit) {
        reached.resolve()
        await go.promise
        return await faulty.commit(unit)
      },
    })
  }
  const handled: string[] = []
  const service = defineService('appending', {
    inputs: [left, right],
    state: text,
    async handle({ value }, { state }) {
      handled.push(value)
      await state.put(`${(await state.get()) ?? ''}${value}`)
    },
  })
  await scene.start(service, { store })
  await scene.send(left.message({ key: 'k', value: 'a' }))
  await reached.promise
  await scene.send(right.message({ key: 'k', value: 'b' }))
  await eventually('b is built on a, which is not stored', () => handled.length === 2)
  go.resolve()
  await scene.until(
    'all is done',
    async () =>
      (await scene.position(service)) === 1 && (await scene.position(service, 'right')) === 1,
  )
  assert.equal([...(scene.state('k') ?? '')].toSorted().join(''), 'ab', 'each has its effect once')
})

test('R13: what a process has stored and not published goes out with the next owner, once, under the same id', async () => {
  await using scene = new Scene()
  const ids: string[] = []
  const stuck = await scene.start(copying, {
    watch: {
      publishing(records) {
        ids.push(...records.map(({ headers }) => String(headers[0]?.value)))
        return new Promise(() => {})
      },
    },
  })
  await scene.send(left.message({ key: 'k', value: 'one' }))
  await eventually('it is stored', () => scene.row(copying)?.unpublished.length === 1)
  // Its end comes before the acknowledgement.
  const stopped = stuck.stop()
  stuck.hurry()
  await scene.until('it has left', async () => {
    const { members } = await embeddedBroker({ memory: scene.memory }).admin.group('copying')
    return members.length === 0
  })
  assert.deepEqual(await scene.outputs(), [])
  const next = await scene.start(copying, {
    watch: {
      publishing(records) {
        ids.push(...records.map(({ headers }) => String(headers[0]?.value)))
      },
    },
  })
  await scene.until('it is published', async () => (await scene.position(copying)) === 1)
  assert.deepEqual(await scene.outputs(), ['one'])
  assert.equal(ids.length, 2)
  assert.equal(ids[0], ids[1])
  assert.equal(next.counts[0]?.recovered, 1)
  await scene.until('the store knows', () => scene.row(copying)?.unpublished.length === 0)
  await stopped.catch(() => {})
})

test('R13: a partition that is given up leaves nothing in the store that was acknowledged', async () => {
  await using scene = new Scene()
  const runtime = await scene.start(copying)
  await scene.send(left.message({ key: 'k', value: 'one' }))
  await eventually('it is published', async () => (await scene.outputs()).length === 1)
  assert.equal((await runtime.stop()).outcome, 'drained')
  assert.deepEqual(scene.row(copying)?.unpublished, [])
})

test('R13: what a partition has left that nobody gets any more is published, by whoever fences its last owner', async () => {
  await using scene = new Scene()
  const store = memoryStore(scene.data, scene.clock)
  await store.open()
  const former = { topic: 'former', partition: 0, topicId: 'id' }
  const [row] = await store.acquire('copying', [former])
  assert.ok(row)
  const record = encodeRecord(output.message({ key: 'k', value: 'left behind' }))
  const change = { ...row, next: 1, outputs: [record], acknowledged: undefined }
  await store.commit({ service: 'copying', marks: [], states: [], ledger: [change] })
  const runtime = await scene.start(copying)
  const isPublished = async (): Promise<boolean> => (await scene.outputs()).length === 1
  await scene.until('it is published', isPublished, 5_000)
  assert.deepEqual(await scene.outputs(), ['left behind'])
  await scene.until('the store knows', async () => {
    const [left_] = await store.unpublished('copying', 0)
    return left_ === undefined
  })
  assert.equal(runtime.counts[0]?.recovered, 1)
  const late = { ...change, unit: row.unit + 1, next: 2 }
  assert.deepEqual(
    await store.commit({ service: 'copying', marks: [], states: [], ledger: [late] }),
    { outcome: 'fenced' },
  )
})

test('R7: two copies of an event in two partitions are handled once, also when both are there at the same time', async () => {
  await using scene = new Scene()
  const twice = topic('twice', { key: text, value: text, create: { partitions: 2 } })
  const handled: string[] = []
  const go = Promise.withResolvers<void>()
  const service = defineService('once', {
    inputs: [twice],
    idempotency: { by: 'event-id' },
    async handle({ partition }) {
      handled.push(`${partition}`)
      await go.promise
    },
  })
  const runtime = await scene.start(service)
  const headers = { id: 'e1' }
  await scene.send(
    twice.message({ key: 'a', value: '', headers, partition: 0 }),
    twice.message({ key: 'b', value: '', headers, partition: 1 }),
  )
  await eventually('one is handled', () => handled.length === 1)
  go.resolve()
  await scene.until('both are done', async () => {
    const { offsets } = await embeddedBroker({ memory: scene.memory }).admin.group('once')
    return offsets.reduce((sum, { offset }) => sum + offset, 0) === 2
  })
  assert.equal(handled.length, 1)
  assert.equal(runtime.counts[0]?.duplicates, 1)
})

test('R12: an output that the broker would refuse fails its message before anything is stored', async () => {
  await using scene = new Scene()
  const large = defineService('appending', {
    inputs: [left],
    outputs: [output],
    state: text,
    async handle({ key }, { state }) {
      await state.put('changed')
      return output.message({ key, value: 'x'.repeat(2_000_000) })
    },
  })
  const runtime = await scene.start(large)
  await scene.send(left.message({ key: 'k', value: '' }))
  await assert.rejects(runtime.done, (error) => PolluxError.is(error, 'POLLUX_OUTPUT_REFUSED'))
  assert.deepEqual([scene.state('k'), scene.row(large)?.next], [undefined, undefined])
  assert.deepEqual(scene.row(large)?.unpublished, [])
})
