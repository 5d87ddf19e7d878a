import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeRecord } from '../../src/engine/outputs.ts'
import { defineService, PolluxError, text, topic } from '../../src/index.ts'
import type { OutgoingRecord } from '../../src/ports/broker.ts'
import type { Store } from '../../src/ports/store.ts'
import { eventually, memoryStore } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { faultyStore, type StoreFault } from '../cases/faulty-store.ts'
import { Cluster } from '../cases/lives/cluster.ts'
import { Life } from '../cases/lives/life.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

const left = topic('left', { key: text, value: text, create: { partitions: 1 } })
const right = topic('right', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

const appending = defineService('appending', {
  ...stopsAtFailure,
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
  ...stopsAtFailure,
  inputs: [left],
  outputs: [output],
  publish: 'outbox',
  handle: ({ key, value }) => output.message({ key, value }),
})

/** A cluster with all topics. */
async function newScene(): Promise<Cluster> {
  const cluster = new Cluster()
  await cluster.createTopics(left, right, output)
  return cluster
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
  using scene = await newScene()
  const runtime = await scene.start(copying, { store: once('lost answer') })
  await scene.send(left.message({ key: 'k', value: 'one' }))
  await scene.until('it is done', () => scene.isSettled(copying))
  assert.deepEqual(await scene.values(output), ['one'], 'one output, not two')
  assert.deepEqual([scene.row(copying, left)?.unit, scene.row(copying, left)?.next], [1, 1])
  assert.equal(runtime.counts[0]?.restarts, 1)
})

test('R8: a fenced owner that the group still knows takes its partition over again, and goes on', async () => {
  using scene = await newScene()
  const acquired: number[] = []
  const noting = (given: Store): Store => {
    const store = once('taken over')(given)
    return storeOver(store, {
      async acquire(...asked) {
        const rows = await store.acquire(...asked)
        acquired.push(...rows.filter(({ topic }) => topic === left.name).map(({ epoch }) => epoch))
        return rows
      },
    })
  }
  const runtime = await scene.start(appending, { store: noting })
  await scene.send(...['a', 'b'].map((value) => left.message({ key: 'k', value })))
  await scene.until('all is done', () => scene.isSettled(appending))
  assert.equal(scene.state(appending, 'k'), 'ab')
  assert.equal(acquired.length, 2, 'it was taken over again')
  assert.equal(scene.row(appending, left)?.epoch, acquired[1], 'and is ours')
  assert.equal(runtime.counts[0]?.restarts, 1)
})

test('R8: a fenced owner that the group does not know any more lets its partition go', async () => {
  using scene = await newScene()
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
  const taken = scene.row(appending, left)?.epoch
  for (let turns = 0; turns < 20; turns += 1) await scene.clock.advance(100)
  assert.equal(scene.row(appending, left)?.epoch, taken, 'it has not taken the partition back')
  assert.deepEqual(
    [scene.state(appending, 'k'), scene.row(appending, left)?.next],
    [undefined, undefined],
  )
  assert.deepEqual([...new Set(refused)], [0], 'and tells the group nothing that is not stored')
})

test('R8: what another partition has built on the work of a fenced one is done again with it', async () => {
  using scene = await newScene()
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
    ...stopsAtFailure,
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
  await scene.until('all is done', () => scene.isSettled(service))
  assert.equal(
    [...(scene.state(appending, 'k') ?? '')].toSorted().join(''),
    'ab',
    'each has its effect once',
  )
})

test('R13: what a process has stored and not published goes out with the next owner, once, under the same id', async () => {
  using scene = await newScene()
  const ids: string[] = []
  const note = (records: readonly OutgoingRecord[]): void =>
    void ids.push(...records.map(({ headers }) => String(headers[0]?.value)))
  const life = new Life()
  await scene.start(copying, {
    life,
    watch: {
      publishing(records) {
        note(records)
        life.end()
        return new Promise(() => {})
      },
    },
  })
  await scene.send(left.message({ key: 'k', value: 'one' }))
  await life.death
  assert.equal(scene.row(copying, left)?.unpublished.length, 1)
  assert.deepEqual(await scene.values(output), [])
  const next = await scene.start(copying, { watch: { publishing: note } })
  await scene.until('it is published', () => scene.isSettled(copying))
  assert.deepEqual(await scene.values(output), ['one'])
  assert.equal(ids.length, 2)
  assert.equal(ids[0], ids[1])
  assert.equal(next.counts[0]?.recovered, 1)
  await scene.until('the store knows', () => scene.row(copying, left)?.unpublished.length === 0)
})

test('R13: a partition that is given up leaves nothing in the store that was acknowledged', async () => {
  using scene = await newScene()
  const runtime = await scene.start(copying)
  await scene.send(left.message({ key: 'k', value: 'one' }))
  await eventually('it is published', async () => (await scene.values(output)).length === 1)
  assert.equal((await runtime.stop()).outcome, 'drained')
  assert.deepEqual(scene.row(copying, left)?.unpublished, [])
})

test('R13: what a partition has left that nobody gets any more is published, by whoever fences its last owner', async () => {
  using scene = await newScene()
  const store = memoryStore(scene.data, scene.clock)
  await store.open()
  const former = { topic: 'former', partition: 0, topicId: 'id' }
  const [row] = await store.acquire('copying', [former])
  assert.ok(row)
  const record = encodeRecord(output.message({ key: 'k', value: 'left behind' }))
  const change = { ...row, next: 1, outputs: [record], acknowledged: undefined }
  await store.commit({ service: 'copying', marks: [], states: [], ledger: [change] })
  const runtime = await scene.start(copying)
  const isPublished = async (): Promise<boolean> => (await scene.values(output)).length === 1
  await scene.until('it is published', isPublished, 5_000)
  assert.deepEqual(await scene.values(output), ['left behind'])
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
  using scene = await newScene()
  const twice = topic('twice', { key: text, value: text, create: { partitions: 2 } })
  await scene.createTopics(twice)
  const handled: string[] = []
  const go = Promise.withResolvers<void>()
  const service = defineService('once', {
    ...stopsAtFailure,
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
  await scene.until('both are done', () => scene.isSettled(service))
  assert.equal(handled.length, 1)
  assert.equal(runtime.counts[0]?.duplicates, 1)
})

test('R12: an output that the broker would refuse fails its message before anything is stored', async () => {
  using scene = await newScene()
  const large = defineService('appending', {
    ...stopsAtFailure,
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
  assert.deepEqual(
    [scene.state(appending, 'k'), scene.row(large, left)?.next],
    [undefined, undefined],
  )
  assert.deepEqual(scene.row(large, left)?.unpublished, [])
})

test('a key does not stand still behind a message that is to be handled again and whose partition has gone meanwhile', async () => {
  using scene = await newScene()
  const reached = Promise.withResolvers<void>()
  const gates = { commit: Promise.withResolvers<void>(), handler: Promise.withResolvers<void>() }
  let refusals = 0
  const store = (given: Store): Store =>
    storeOver(given, {
      async commit(unit) {
        const topics = unit.ledger.map((change) => change.topic)
        if (refusals === 0 && topics.includes('right')) {
          refusals = 1
          reached.resolve()
          await gates.commit.promise
          // Somebody else has been at the key.
          const change = { key: Buffer.from('k'), value: Buffer.from('!'), guard: null, version: 0 }
          const foreign = { service: unit.service, marks: [], states: [change], ledger: [] }
          assert.equal((await given.commit(foreign)).outcome, 'committed')
        } else if (refusals === 1 && topics.includes('left')) {
          refusals = 2
          return { outcome: 'fenced' }
        }
        return await given.commit(unit)
      },
    })
  const handled: string[] = []
  const service = defineService('appending', {
    ...stopsAtFailure,
    inputs: [left, right],
    state: text,
    async handle({ value }, { state }) {
      handled.push(value)
      const before = (await state.get()) ?? ''
      if (value === 'b' && handled.filter((one) => one === 'b').length === 1)
        await gates.handler.promise
      await state.put(`${before}${value}`)
    },
  })
  const runtime = await scene.start(service, { store })
  await scene.send(right.message({ key: 'k', value: 'a' }))
  await reached.promise
  await scene.send(left.message({ key: 'k', value: 'b' }))
  await eventually('b is built on a', () => handled.includes('b'))
  await scene.send(left.message({ key: 'other', value: 'c' }))
  await eventually('c is handled', () => handled.includes('c'))
  gates.commit.resolve()
  await scene.until('left has started anew', () => runtime.counts[0]?.restarts === 1)
  gates.handler.resolve()
  await scene.until('all is done', () => scene.isSettled(service))
  assert.equal([...(scene.state(service, 'k') ?? '')].toSorted().join(''), '!ab')
})
