import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Housekeeping } from '../../src/engine/housekeeping.ts'
import { defineService, type Service, text, topic } from '../../src/index.ts'
import type { BrokerAdmin } from '../../src/ports/broker.ts'
import type { LedgerPartition, Mark } from '../../src/ports/store.ts'
import { ManualClock, MemoryStoreData, memoryStore } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { unreachable } from '../cases/faulty-store.ts'

const day = 24 * 60 * 60_000
const input = topic('input', { key: text, value: text })

const remembering = defineService('remembering', {
  inputs: [input],
  idempotency: { by: 'event-id', window: '7d' },
  handle() {},
})
const publishing = defineService('publishing', {
  inputs: [input],
  outputs: [topic('output', { key: text, value: text })],
  publish: 'outbox',
  handle() {},
})

/** Housekeeping over a store in memory and a broker that has the topic `input` with two partitions. */
class Scene {
  readonly clock = new ManualClock()
  readonly data = new MemoryStoreData()
  readonly store = memoryStore(this.data, this.clock)
  readonly warnings: string[] = []
  readonly swept: string[] = []
  readonly calls = { forget: 0 }
  isStoreAway = false
  readonly housekeeping: Housekeeping
  readonly #service: Service

  constructor(service: Service) {
    this.#service = service
    this.housekeeping = new Housekeeping({
      service,
      store: storeOver(this.store, {
        forget: async (...given) => {
          this.calls.forget += 1
          if (this.isStoreAway) throw unreachable()
          return await this.store.forget(...given)
        },
      }),
      admin: { topics: async () => [{ name: 'input', partitions: 2 }] } as unknown as BrokerAdmin,
      clock: this.clock,
      logger: {
        debug() {},
        info() {},
        error() {},
        warn: (_, message) => void this.warnings.push(message),
      },
      sweep: async (partitions) => {
        this.swept.push(...partitions.map(({ topic: name, partition }) => `${name}/${partition}`))
      },
    })
  }

  /** Commits a unit of one partition. */
  async commit(
    place: Omit<LedgerPartition, 'topicId'>,
    next: number,
    unit: { readonly marks?: readonly Mark[]; readonly output?: string },
  ): Promise<void> {
    await this.store.open()
    const { name: service } = this.#service
    const [row] = await this.store.acquire(service, [{ ...place, topicId: 'id' }])
    assert.ok(row)
    const outputs =
      unit.output === undefined
        ? []
        : [
            {
              topic: 'output',
              partition: undefined,
              key: null,
              value: Buffer.from(unit.output),
              headers: [],
              timestamp: undefined,
            },
          ]
    const ledger = [{ ...row, next, outputs, acknowledged: undefined }]
    await this.store.commit({ service, marks: unit.marks ?? [], states: [], ledger })
  }
}

const marksAt = (offsets: readonly number[]): Mark[] =>
  offsets.map((offset) => {
    return { topic: 'input', partition: 0, offset, id: Buffer.from(`e${offset}`) }
  })

test('R10: marks are forgotten after the window and below the position of the ledger, and no others', async () => {
  const scene = new Scene(remembering)
  const place = { topic: 'input', partition: 0 }
  // 9 was settled above a message that is not: the partition stands at 5.
  await scene.commit(place, 5, { marks: marksAt([0, 1, 9]) })
  await scene.clock.advance(8 * day)
  await scene.commit(place, 6, { marks: marksAt([5]) })
  scene.housekeeping.start()
  await scene.clock.advance(day)
  scene.housekeeping.stop()
  assert.deepEqual(
    [...scene.data.marks.values()].map(({ offset }) => offset),
    [9, 5],
  )
})

test('many marks are forgotten in slices with pauses in between, until none is left', async () => {
  const scene = new Scene(remembering)
  const count = 5_500
  await scene.commit({ topic: 'input', partition: 0 }, count, {
    marks: marksAt(Array.from({ length: count }, (_, offset) => offset)),
  })
  await scene.clock.advance(8 * day)
  scene.housekeeping.start()
  // The first time comes within ten seconds, and a slice within a second after the one before.
  for (let sizes: number[] = []; ; sizes = [...sizes, scene.data.marks.size]) {
    const before = scene.data.marks.size
    if (before === 0) {
      assert.ok(sizes.length > 3, 'it took several slices')
      break
    }
    await scene.clock.advance(100)
    assert.ok(before - scene.data.marks.size <= 1_000)
    assert.ok(sizes.length < 300, 'it comes to an end')
  }
  scene.housekeeping.stop()
  const { forget } = scene.calls
  await scene.clock.advance(day)
  assert.equal(scene.calls.forget, forget, 'nothing is done after the stop')
})

test('trouble of the store is told once, and it is tried again later', async () => {
  const scene = new Scene(remembering)
  await scene.commit({ topic: 'input', partition: 0 }, 1, { marks: marksAt([0]) })
  await scene.clock.advance(8 * day)
  scene.isStoreAway = true
  scene.housekeeping.start()
  await scene.clock.advance(day)
  assert.ok(scene.calls.forget > 3)
  assert.deepEqual(scene.warnings, ['housekeeping failed, trying again later'])
  scene.isStoreAway = false
  await scene.clock.advance(day)
  scene.housekeeping.stop()
  assert.equal(scene.data.marks.size, 0)
})

test('R13: only partitions that no group gives out any more are swept, and only what nobody publishes for a while', async () => {
  const scene = new Scene(publishing)
  await scene.commit({ topic: 'input', partition: 1 }, 1, { output: 'owned' })
  await scene.commit({ topic: 'input', partition: 2 }, 1, { output: 'the topic has shrunk' })
  await scene.commit({ topic: 'former', partition: 0 }, 1, { output: 'no input any more' })
  await scene.commit({ topic: 'former', partition: 1 }, 1, {})
  scene.housekeeping.start()
  await scene.clock.advance(30_000)
  assert.deepEqual(scene.swept, [])
  await scene.clock.advance(60_000)
  scene.housekeeping.stop()
  assert.deepEqual(scene.swept.toSorted(), ['former/0', 'input/2'])
})

test('a service that remembers nothing and stores no outputs has nothing to be done', async () => {
  const scene = new Scene(defineService('service', { inputs: [input], state: text, handle() {} }))
  await scene.store.open()
  scene.housekeeping.start()
  await scene.clock.advance(day)
  scene.housekeeping.stop()
  assert.deepEqual([scene.calls.forget, scene.swept, scene.warnings], [0, [], []])
})
