import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineService, PolluxError, type Service, text, topic } from '../../src/index.ts'
import { eventually } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { Cluster, type ProcessDoings } from './lives/cluster.ts'
import { Life } from './lives/life.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

/** Counts the events of each key, each once, and tells the count. */
function counting(handled: string[], fails: () => boolean = () => false): Service {
  return defineService('counting', {
    ...stopsAtFailure,
    inputs: [input],
    outputs: [output],
    state: text,
    idempotency: { by: 'event-id' },
    async handle({ key, value }, { state }) {
      handled.push(value)
      const count = `${Number((await state.get()) ?? 0) + 1}`
      await state.put(count)
      if (fails()) throw new Error('once')
      return output.message({ key, value: count })
    },
  })
}

const event = (id: string, partition = 0) =>
  input.message({ key: 'k', value: id, partition, headers: { id } })

const idsOf = async (cluster: Cluster): Promise<string[]> =>
  (await cluster.records(output)).map(({ headers }) => String(headers[0]?.value))

async function newCluster(): Promise<Cluster> {
  const cluster = new Cluster()
  await cluster.createTopics(input, output)
  return cluster
}

test('case 25: a process that dies after the effect and before its commit has had no effect, and the next one has it once', async () => {
  using cluster = await newCluster()
  const handled: string[] = []
  const life = new Life()
  await cluster.start(counting(handled), {
    life,
    store: (store) =>
      storeOver(store, {
        async commit() {
          life.end()
          return await new Promise(() => {})
        },
      }),
  })
  await cluster.send(event('e1'), event('e1', 1))
  await life.death
  assert.deepEqual([handled, cluster.data.marks.size, cluster.data.states.size], [['e1'], 0, 0])
  const service = counting(handled)
  await cluster.start(service)
  await cluster.until('it is done', () => cluster.isSettled(service))
  assert.deepEqual(handled, ['e1', 'e1'], 'again, but not for its copy')
  assert.equal(cluster.state(service, 'k'), '1')
  assert.deepEqual(await cluster.values(output), ['1'])
})

test('case 25: what a process has remembered when it dies is known to the next one', async () => {
  using cluster = await newCluster()
  const handled: string[] = []
  const life = new Life()
  const service = counting(handled)
  await cluster.start(service, { life })
  await cluster.send(event('e1'))
  await cluster.until('it is done', () => cluster.isSettled(service))
  life.end()
  await cluster.send(event('e1'), event('e1', 1), event('e2', 1))
  await cluster.start(service)
  await cluster.until('all is done', () => cluster.isSettled(service))
  assert.deepEqual(handled, ['e1', 'e2'])
  assert.equal(cluster.state(service, 'k'), '2')
})

test('case 25: a message whose handler failed is not remembered, and is handled when it is delivered again', async () => {
  using cluster = await newCluster()
  const handled: string[] = []
  let isFailing = true
  const service = counting(handled, () => isFailing)
  const first = await cluster.start(service)
  await cluster.send(event('e1'))
  await assert.rejects(first.done, (error) => PolluxError.is(error, 'POLLUX_HANDLER_FAILED'))
  assert.equal(cluster.data.marks.size, 0)
  isFailing = false
  await cluster.send(event('e1'))
  await cluster.start(service)
  await cluster.until('all is done', () => cluster.isSettled(service))
  assert.deepEqual(handled, ['e1', 'e1'])
  assert.equal(cluster.state(service, 'k'), '1')
  assert.deepEqual(await cluster.values(output), ['1'])
})

test('case 25: an event that is claimed when its process dies is claimed by nobody any more', async () => {
  using cluster = await newCluster()
  const life = new Life()
  let isReached = false
  const hanging = defineService('counting', {
    ...stopsAtFailure,
    inputs: [input],
    state: text,
    idempotency: { by: 'event-id' },
    async handle() {
      isReached = true
      await new Promise(() => {})
    },
  })
  await cluster.start(hanging, { life })
  await cluster.send(event('e1'))
  await eventually('it is in work', () => isReached)
  life.end()
  const handled: string[] = []
  const service = counting(handled)
  await cluster.start(service)
  await cluster.until('it is done', () => cluster.isSettled(service))
  assert.deepEqual([handled, cluster.state(service, 'k')], [['e1'], '1'])
})

test('case 26: an id belongs to its service and topic: others that meet the same one lose nothing', async () => {
  const left = topic('left', { key: text, value: text, create: { partitions: 1 } })
  const right = topic('right', { key: text, value: text, create: { partitions: 1 } })
  using cluster = new Cluster()
  await cluster.createTopics(left, right)
  const handled: string[] = []
  const services = ['billing', 'mail'].map((name) =>
    defineService(name, {
      ...stopsAtFailure,
      inputs: [left, right],
      idempotency: { by: 'event-id' },
      handle: (message) => void handled.push(`${name} ${message.topic} ${message.id}`),
    }),
  )
  for (const service of services) await cluster.start(service)
  const headers = { id: 'E1' }
  for (const one of [left, right, left, right])
    await cluster.send(one.message({ key: 'k', value: 'v', headers }))
  for (const service of services)
    await cluster.until('all is done', () => cluster.isSettled(service))
  assert.deepEqual(handled.toSorted(), [
    'billing left E1',
    'billing right E1',
    'mail left E1',
    'mail right E1',
  ])
  assert.equal(cluster.data.marks.size, 4)
})

/** Where a process may die between the database and the broker. */
const deaths: Readonly<Record<string, (life: Life) => ProcessDoings>> = {
  'after the database has committed': (life) => ({
    store: (store) =>
      storeOver(store, {
        async commit(unit) {
          await store.commit(unit)
          life.end()
          return await new Promise(() => {})
        },
      }),
  }),
  'after the output was sent, which nobody told it': (life) => ({
    watch: { published: () => life.end() },
  }),
  'after it heard of the acknowledgement': (life) => ({
    watch: { acknowledged: () => life.end() },
  }),
  'after the offset was committed': (life) => {
    let isPublished = false
    return {
      watch: {
        published: () => void (isPublished = true),
        committed: () => {
          if (isPublished) life.end()
        },
      },
    }
  },
}

for (const [when, doings] of Object.entries(deaths)) {
  test(`case 32: a process dies ${when}: one effect, its output under one id, and the offset moves on`, async () => {
    using cluster = await newCluster()
    const handled: string[] = []
    const service = counting(handled)
    const life = new Life()
    await cluster.start(service, { ...doings(life), life })
    await cluster.send(event('e1'))
    await cluster.until('it has died', () => life.isDead)
    await cluster.start(service)
    await cluster.until('all is done', () => cluster.isSettled(service))
    await cluster.until('the store has nothing left', () => {
      return cluster.row(service, input)?.unpublished.length === 0
    })
    assert.deepEqual(handled, ['e1'], 'the effect was in the store already')
    assert.equal(cluster.state(service, 'k'), '1')
    const ids = await idsOf(cluster)
    assert.ok(ids.length >= 1 && ids.length <= 2, `${ids.length} outputs`)
    assert.equal(new Set(ids).size, 1)
    assert.deepEqual([...new Set(await cluster.values(output))], ['1'])
  })
}
