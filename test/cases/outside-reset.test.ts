import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { defineService, PolluxError, type Service, text, topic } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import type { HandlerOptions } from '../../src/service-options.ts'
import { eventually, memoryStore, type TestRuntime, testRuntime } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'
import { storeOver } from '../../src/testing/store-over.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const place = { topic: 'input', partition: 0 }

/** A broker and a store that outlive the services on them. */
class Scene {
  readonly memory = sharedMemory()
  readonly data = new MemoryStoreData()
  /** What handlers were given, in order. */
  readonly handled: string[] = []
  /** Warnings and what is worth knowing. */
  readonly lines: string[] = []

  service(options: HandlerOptions = {}): Service {
    return defineService('counting', {
      inputs: [input],
      state: text,
      ...options,
      handle: async ({ value }, { state }) => {
        this.handled.push(value)
        await state.put(value)
      },
    })
  }

  storeless(): Service {
    return defineService('counting', {
      inputs: [input],
      handle: ({ value }) => void this.handled.push(value),
    })
  }

  start(service: Service, store = memoryStore(this.data)): Promise<TestRuntime> {
    const keep = (_: object, line: string): void => void this.lines.push(line)
    const logger = { ...silent, info: keep, warn: keep }
    return testRuntime(service, { broker: embeddedBroker({ memory: this.memory }), store, logger })
  }

  /** Lets a service work off these values, and stops it. */
  async work(service: Service, ...values: readonly string[]): Promise<void> {
    await using runtime = await this.start(service)
    await runtime.send(...values.map((value) => input.message({ key: 'k', value })))
    await runtime.settled()
  }

  /** Sets the group's position as a tool or another program does. */
  async reset(offset: number, metadata?: string): Promise<void> {
    const broker = embeddedBroker({ memory: this.memory })
    const isOurs = Promise.withResolvers<void>()
    const member = await broker.join(
      { group: 'counting', topics: ['input'], start: 'earliest', logger: silent },
      {
        assigned: async () => {
          isOurs.resolve()
          return []
        },
        revoked: async () => {},
        lost: () => {},
      },
    )
    await isOurs.promise
    await member.commit([{ ...place, offset, metadata }])
    await broker.close()
  }

  async committed(): Promise<unknown> {
    const broker = embeddedBroker({ memory: this.memory })
    const { offsets } = await broker.admin.group('counting')
    await broker.close()
    return offsets[0]
  }

  get next(): number | undefined {
    return this.data.ledger.get(JSON.stringify(['counting', 'input', 0]))?.next
  }
}

/** The error that a service stops with before it has handled anything. */
async function refusal(scene: Scene, service: Service): Promise<PolluxError> {
  const before = scene.handled.length
  const runtime = await scene.start(service)
  // Until the partition is assigned, all may seem settled.
  const error: unknown = await eventually('it stops', () =>
    runtime.settled().then(
      () => undefined,
      (reason: unknown) => reason,
    ),
  )
  await runtime.stop().catch(() => {})
  assert.equal(scene.handled.length, before, 'nothing was handled')
  assert.ok(PolluxError.is(error), String(error))
  return error
}

test('R4: positions are committed with a word of who did, and whether the ledger has work', async () => {
  const scene = new Scene()
  await scene.work(scene.service())
  assert.deepEqual(await scene.committed(), { ...place, offset: 0, metadata: 'pollux/1;at=0' })
  await scene.work(scene.service(), 'a', 'b')
  assert.deepEqual(await scene.committed(), {
    ...place,
    offset: 2,
    metadata: 'pollux/1;ledger;at=2',
  })
})

test('R4: a position that somebody else has set stops the service, which says both and what to do', async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a', 'b', 'c')
  await scene.reset(1)
  const error = await refusal(scene, scene.service())
  assert.equal(error.code, 'POLLUX_OUTSIDE_RESET')
  assert.match(error.message, /group counting .*input\/0: 1 in the group, 3 in the ledger/)
  assert.match(error.message, /outsideReset: 'follow'.*outsideReset: 'ledger'.*--topic input:0/)
  assert.deepEqual(await scene.committed(), { ...place, offset: 1 }, 'and is left as it is')
  await scene.reset(3)
  await scene.work(scene.service(), 'd')
  assert.deepEqual(scene.handled, ['a', 'b', 'c', 'd'], 'set to the ledger’s, all is well')
})

test('R4: a position with the text of another one is somebody else’s, too', async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a', 'b', 'c')
  await scene.reset(1, 'pollux/1;ledger;at=3')
  assert.equal((await refusal(scene, scene.service())).code, 'POLLUX_OUTSIDE_RESET')
})

test("R4: outsideReset 'ledger' keeps the ledger's position, says so once, and commits over the other", async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a', 'b')
  await scene.reset(0)
  const service = scene.service({ outsideReset: 'ledger' })
  await scene.work(service)
  await scene.work(service, 'c')
  assert.deepEqual(scene.handled, ['a', 'b', 'c'])
  assert.equal(scene.lines.filter((line) => /set by something else/.test(line)).length, 1)
})

test("R4: outsideReset 'follow' handles again what lies behind a position set backwards, once", async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a', 'b', 'c')
  await scene.reset(1)
  const service = scene.service({ outsideReset: 'follow' })
  await scene.work(service)
  await scene.work(service, 'd')
  assert.deepEqual(scene.handled, ['a', 'b', 'c', 'b', 'c', 'd'])
  assert.equal(scene.next, 4)
})

test("R4: outsideReset 'follow' passes over what lies before a position set forwards", async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a')
  const other = defineService('other', { inputs: [input], handle() {} })
  await scene.work(other, 'b', 'c', 'd')
  await scene.reset(3)
  await scene.work(scene.service({ outsideReset: 'follow' }))
  assert.deepEqual(scene.handled, ['a', 'd'])
  assert.equal(scene.next, 4)
})

test("R4: marks still drop the copies of events when 'follow' goes backwards", async () => {
  const scene = new Scene()
  const options = { idempotency: { by: 'event-id' } } as const
  const service = scene.service({ ...options } as HandlerOptions)
  {
    await using runtime = await scene.start(service)
    const headers = { id: 'e1' }
    await runtime.send(input.message({ key: 'k', value: 'a', headers }))
    await runtime.settled()
  }
  await scene.reset(0)
  await scene.work(scene.service({ ...options, outsideReset: 'follow' } as HandlerOptions), 'b')
  assert.deepEqual(scene.handled, ['a', 'b'])
})

test('R4: a group that has worked with a ledger does not begin without one', async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a', 'b')
  scene.data.ledger.clear()
  const error = await refusal(scene, scene.service())
  assert.equal(error.code, 'POLLUX_LEDGER_MISSING')
  assert.match(error.message, /input\/0: 2 in the group, nothing in the ledger/)
  await scene.reset(1)
  await scene.work(scene.service())
  assert.deepEqual(scene.handled, ['a', 'b', 'b'], 'unless somebody says where')
})

test('R4: a group from before Pollux, or from before the store, goes on where it is', async () => {
  const before = new Scene()
  await before.work(defineService('other', { inputs: [input], handle() {} }), 'a', 'b', 'c')
  await before.reset(2)
  await before.work(before.service())
  assert.deepEqual(before.handled, ['c'])
  const storeless = new Scene()
  await storeless.work(storeless.storeless(), 'a', 'b')
  await storeless.work(storeless.service(), 'c')
  assert.deepEqual(storeless.handled, ['a', 'b', 'c'])
})

test("R4: outsideReset 'ledger' is refused where there is no ledger", () => {
  assert.throws(
    () => defineService('s', { inputs: [input], outsideReset: 'ledger', handle() {} }),
    /outsideReset: expected 'stop' or 'follow' since the service has no ledger/,
  )
})

test('R4: a ledger behind a position of ours, after a fail-over, goes on from the ledger', async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a', 'b')
  const name = JSON.stringify(['counting', 'input', 0])
  const row = scene.data.ledger.get(name)
  assert.ok(row)
  scene.data.ledger.set(name, { ...row, unit: 1, next: 1 })
  await scene.work(scene.service(), 'c')
  assert.deepEqual(scene.handled, ['a', 'b', 'b', 'c'])
  assert.ok(scene.lines.some((line) => /ledger is behind the group/.test(line)))
})

test('R4: a group that has lost its offsets goes on from the ledger', async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a')
  const second = new Scene()
  await second.work(defineService('other', { inputs: [input], handle() {} }), 'a', 'b')
  const broker = embeddedBroker({ memory: second.memory })
  const topicId = (await broker.admin.topicIds(['input'])).get('input') ?? ''
  for (const [name, row] of scene.data.ledger) second.data.ledger.set(name, { ...row, topicId })
  await broker.close()
  await second.work(second.service())
  assert.deepEqual(second.handled, ['b'])
})

test('R4: a position that is not ours is made ours before work starts: a crash behind it is no reset', async () => {
  const scene = new Scene()
  await scene.work(scene.service(), 'a', 'b', 'c')
  await scene.reset(1)
  const service = scene.service({ outsideReset: 'follow' })
  const seen: unknown[] = []
  const store = memoryStore(scene.data)
  const watched = storeOver(store, {
    commit: async (unit) => {
      // The first unit moves the ledger; those behind it are work.
      seen.push(await scene.committed())
      return await store.commit(unit)
    },
  })
  await using runtime = await scene.start(service, watched)
  await runtime.settled()
  assert.deepEqual(seen[0], { ...place, offset: 1 })
  assert.deepEqual(seen[1], { ...place, offset: 1, metadata: 'pollux/1;ledger;at=1' })
})
