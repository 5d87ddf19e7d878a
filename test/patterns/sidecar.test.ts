import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { json, nullable, PolluxError, run, sidecar, text, topic } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually, ManualClock, testRuntime } from '../../src/testing/index.ts'
import { sendTo } from '../../src/testing/logs.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { MemoryTarget } from './sidecar/memory-target.ts'

const Item = z.object({ name: z.string(), stock: z.object({ pieces: z.int() }).nullish() })
const items = topic('items', {
  key: text,
  value: nullable(json(Item)),
  create: { partitions: 2 },
})
const key = { id: (message: { readonly key: string }) => message.key }
const item = (id: string, partition = 0) =>
  items.message({ key: id, value: { name: id }, partition })

test('a definition that is wrong is refused with all that is wrong about it', () => {
  const wrong = {
    input: [items, topic('others', { key: text, value: text })],
    target: {},
    key: {},
    columns: { name: 7, id: 'name' },
    version: { by: 'offset', column: 'id' },
    tombstone: 'delete',
    badText: 'keep',
  }
  assert.throws(
    () => sidecar('feed', wrong as never),
    (error) => {
      assert.ok(PolluxError.is(error, 'POLLUX_OPTION_INVALID'))
      for (const part of [
        /target: expected a target such as postgresTable/,
        /key: expected at least one column/,
        /columns\.name: expected a function/,
        /version\.by: expected 'field' or 'timestamp'/,
        /id: the column is there twice/,
        /tombstone: unknown option; did you mean tombstones\?/,
        /badText: expected 'replace' or 'refuse'/,
      ])
        assert.match(error.message, part)
      return true
    },
  )
  assert.throws(
    () => sidecar('feed', { input: items, apply: 'insert', target: {} } as never),
    /apply: expected a function[\s\S]*target: expected none beside apply/,
  )
})

test('a target is opened before the first message and closed after the last', async () => {
  const target = new MemoryTarget()
  const feed = sidecar('feed', { input: items, target, key, columns: { name: 'name' } })
  const runtime = await testRuntime(feed)
  assert.deepEqual(target.events, ['open'])
  await runtime.send(item('a'))
  await runtime.settled()
  await runtime.stop()
  assert.deepEqual(target.events, ['open', 'write', 'close'])
})

test('columns come from fields and functions; an absent one is undefined, a tombstone has none', async () => {
  const target = new MemoryTarget()
  const feed = sidecar('feed', {
    ...stopsAtFailure,
    input: items,
    target,
    key,
    columns: { name: 'name', pieces: ({ value }) => value.stock && value.stock.pieces },
    version: { by: 'offset' },
  })
  await using runtime = await testRuntime(feed)
  await runtime.send(
    item('a'),
    items.message({ key: 'a', value: { name: 'A', stock: { pieces: 3 } }, partition: 0 }),
    items.message({ key: 'a', value: { name: 'A', stock: null }, partition: 0 }),
    items.message({ key: 'a', value: null, partition: 0 }),
  )
  await runtime.settled()
  assert.deepEqual(
    target.changes.map(({ values, versions }) => [values, versions]),
    [
      [['a', undefined], [0n]],
      [['A', 3], [1n]],
      [['A', null], [2n]],
      [undefined, [3n]],
    ],
  )
  assert.equal(target.shape?.isDeleting, true)
})

test('a message that its mapping throws at fails alone', async () => {
  const target = new MemoryTarget()
  const feed = sidecar('feed', {
    ...stopsAtFailure,
    input: items,
    target,
    key,
    columns: {
      name: ({ value }) => {
        if (value.name === 'bad') throw new Error('no such name')
        return value.name
      },
    },
  })
  await using runtime = await testRuntime(feed)
  await runtime.send(item('a'), item('bad'), item('c', 1))
  await assert.rejects(runtime.settled(), /items\/0\/1 failed: no such name/)
  assert.deepEqual(target.changes.map((change) => change.key[0]).sort(), ['a', 'c'])
})

test('tombstones are passed over or refused where that is asked for', async () => {
  const target = new MemoryTarget()
  const common = {
    input: items,
    target,
    key,
    columns: { name: 'name' },
    ...stopsAtFailure,
  } as const
  const gone = items.message({ key: 'a', value: null })
  await using ignoring = await testRuntime(sidecar('ignore', { ...common, tombstones: 'ignore' }))
  await ignoring.send(gone)
  await ignoring.settled()
  assert.equal(ignoring.counts[0]?.own['tombstones'], 1)
  assert.deepEqual(target.changes, [])
  await using refusing = await testRuntime(sidecar('refuse', { ...common, tombstones: 'refuse' }))
  await refusing.send(gone)
  await assert.rejects(refusing.settled(), /tombstones are 'refuse'/)
})

test('while its target is away the process is not ready, and says what it waits for', async () => {
  const target = new MemoryTarget()
  const feed = sidecar('feed', { input: items, target, key, columns: { name: 'name' } })
  const clock = new ManualClock()
  const broker = embeddedBroker({ clock })
  const options = { broker, clock, logger: silent, signals: false, createTopics: true }
  await using runtime = await run(feed, options)
  target.isAway = true
  await sendTo(broker, item('a', 0))
  await eventually('it is not ready', async () => {
    await clock.advance(1_000)
    return !runtime.readiness.isReady
  })
  assert.deepEqual(runtime.readiness.waitingFor, [target.name])
  target.isAway = false
  await eventually('it is ready again', async () => {
    await clock.advance(10_000)
    return runtime.readiness.isReady
  })
})

test('case 12: while the target is away a partition can be given to another member, and nobody fails', async () => {
  const target = new MemoryTarget()
  // One call has the messages of both partitions.
  const feed = sidecar('feed', {
    ...stopsAtFailure,
    input: items,
    target,
    key,
    columns: { name: 'name' },
    concurrency: 1,
  })
  const memory = sharedMemory()
  const clock = new ManualClock()
  const broker = embeddedBroker({ memory, clock })
  await broker.connect()
  await broker.admin.createTopics([{ name: 'items', partitions: 2 }])
  const log = Array.from({ length: 128 }, (_, index) => item(`k${index}`, index < 40 ? 0 : 1))
  await sendTo(broker, ...log)
  const start = () => testRuntime(feed, { clock, broker: embeddedBroker({ memory, clock }) })
  target.isAway = true
  await using first = await start()
  await eventually('it tries', () => target.sizes.length > 1)
  const joining = start()
  const until = async (what: string, look: () => boolean | Promise<boolean>): Promise<void> => {
    await eventually(what, async () => {
      await clock.advance(1_000)
      return await look()
    })
  }
  let isThere = false
  void joining.then(() => {
    isThere = true
  })
  await until('the other one is there', () => isThere)
  await using second = await joining
  target.isAway = false
  await until(
    'all is written',
    () => new Set(target.changes.map((change) => change.key[0])).size === 128,
  )
  await first.settled()
  await second.settled()
  // No message was looked for that might be at fault.
  assert.ok(
    target.sizes.every((size) => [128, 40, 88].includes(size)),
    String(target.sizes),
  )
})
