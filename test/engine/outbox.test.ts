import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outbox } from '../../src/engine/outbox.ts'
import type { Partition, StoredBatch, Work } from '../../src/engine/partition.ts'
import { bytesOf } from '../../src/engine/unit.ts'
import { PolluxError } from '../../src/index.ts'
import type { OutgoingRecord } from '../../src/ports/broker.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { unreachable } from '../cases/faulty-store.ts'
import { partitionOf, workOf } from './works.ts'

const refusal = new PolluxError('POLLUX_OUTPUT_REFUSED', 'The broker does not take it.')

function recordOf(value: string): OutgoingRecord {
  return {
    topic: 'output',
    partition: undefined,
    key: null,
    value: Buffer.from(value),
    headers: [],
    timestamp: undefined,
  }
}

/** An outbox, what it has published, and what it has told the store. */
class Scene {
  readonly clock = new ManualClock()
  readonly batches: StoredBatch[] = []
  readonly told: string[] = []
  readonly finished: Work[] = []
  readonly recovered: Partition[] = []
  readonly refused: Partition[] = []
  isStoreAway = false
  readonly outbox: Outbox

  constructor(largest = 10_000) {
    this.outbox = new Outbox({
      publish: (batch) => void this.batches.push(batch),
      acknowledge: async (partitions) => {
        if (this.isStoreAway) throw unreachable()
        for (const { topic, partition, unit } of partitions)
          this.told.push(`${topic}/${partition} to ${unit}`)
      },
      finished: (work) => void this.finished.push(work),
      recovered: (partition) => void this.recovered.push(partition),
      refused: ({ partition }) => void this.refused.push(partition),
      clock: this.clock,
      largest,
    })
  }

  /** A unit with this message and its output was committed. */
  store(partition: Partition, offset: number, value = `${offset}`): Work {
    const work = workOf(partition, offset)
    partition.tracker.settle(work.place)
    partition.unit += 1
    partition.done = partition.tracker.position
    const outputs = [recordOf(value)]
    this.outbox.stored({
      partition,
      works: [work],
      outputs,
      lowest: offset,
      bytes: bytesOf(outputs),
    })
    return work
  }

  batch(index: number): StoredBatch {
    const batch = this.batches[index]
    assert.ok(batch)
    return batch
  }
}

test('R13: what is acknowledged is told to the store once nothing follows', async () => {
  const scene = new Scene()
  const partition = partitionOf()
  const works = [scene.store(partition, 0), scene.store(partition, 1)]
  for (const index of [0, 1]) scene.outbox.acknowledged(scene.batch(index))
  assert.deepEqual(scene.finished, works)
  assert.deepEqual(scene.told, [], 'the next unit would tell it by the way')
  await scene.clock.advance(1_000)
  assert.deepEqual(scene.told, ['input/0 to 2'])
  await scene.clock.advance(10_000)
  assert.equal(scene.told.length, 1)
})

test('R13: what the store could not be told is told later', async () => {
  const scene = new Scene()
  scene.store(partitionOf(), 0)
  scene.outbox.acknowledged(scene.batch(0))
  scene.isStoreAway = true
  await scene.clock.advance(2_000)
  assert.deepEqual(scene.told, [])
  scene.isStoreAway = false
  await scene.clock.advance(2_000)
  assert.deepEqual(scene.told, ['input/0 to 1'])
})

test('R13: nothing behind a refused output counts as acknowledged, as the store would delete that one with it', async () => {
  const scene = new Scene()
  const partition = partitionOf()
  for (const offset of [0, 1, 2]) scene.store(partition, offset)
  scene.outbox.acknowledged(scene.batch(0))
  scene.outbox.refused(scene.batch(1), refusal)
  scene.outbox.acknowledged(scene.batch(2))
  assert.deepEqual(scene.refused, [partition])
  await scene.clock.advance(2_000)
  assert.deepEqual(scene.told, ['input/0 to 1'])
  assert.equal(partition.durable, 1, 'the group stays in front of the refused one')
  assert.equal(scene.finished.length, 3, 'and nothing is waited for')
})

test('the position of the group stays in front of what is stored and not acknowledged', () => {
  const scene = new Scene()
  const partition = partitionOf()
  for (const offset of [0, 1]) scene.store(partition, offset)
  assert.deepEqual([partition.done, partition.durable], [2, 0])
  scene.outbox.acknowledged(scene.batch(0))
  assert.equal(partition.durable, 1)
  scene.outbox.acknowledged(scene.batch(1))
  assert.equal(partition.durable, 2)
})

test('R13: what a previous owner left is published first, told to the store, and holds the position of the group until then', async () => {
  const scene = new Scene()
  const partition = partitionOf(0, { next: 5, unit: 8 })
  const left = [
    { unit: 7, records: [recordOf('a'), recordOf('b')] },
    { unit: 8, records: [recordOf('c')] },
  ]
  scene.outbox.recover(partition, left, 3)
  scene.store(partition, 5, 'd')
  assert.deepEqual(
    scene.batches.map(({ outputs }) => outputs.map(({ value }) => String(value))),
    [['a', 'b'], ['c'], ['d']],
  )
  assert.deepEqual([partition.durable, partition.inFlight], [3, 2], 'it counts as work')
  scene.outbox.acknowledged(scene.batch(0))
  assert.equal(partition.durable, 3)
  scene.outbox.acknowledged(scene.batch(1))
  assert.equal(partition.durable, 5)
  assert.deepEqual(scene.recovered, [partition, partition])
  await scene.clock.advance(1_000)
  assert.deepEqual(scene.told, ['input/0 to 8'])
})

test('what is acknowledged for a partition that has gone is not told: its next owner publishes it', async () => {
  const scene = new Scene()
  const partition = partitionOf()
  scene.store(partition, 0)
  partition.end()
  scene.outbox.acknowledged(scene.batch(0))
  await scene.clock.advance(2_000)
  assert.deepEqual(scene.told, [])
})

test('R12: at the bound of what is stored and not published there is no room, until some is acknowledged', async () => {
  const scene = new Scene(300)
  const partition = partitionOf()
  assert.equal(scene.outbox.room(), undefined)
  for (const offset of [0, 1]) scene.store(partition, offset, 'x'.repeat(100))
  let hasRoom = false
  const room = scene.outbox.room()
  assert.ok(room)
  void room.then(() => (hasRoom = true))
  await new Promise(setImmediate)
  assert.equal(hasRoom, false)
  scene.outbox.acknowledged(scene.batch(0))
  await room
  assert.equal(scene.outbox.room(), undefined)
})

test('giving a partition up tells the store at once', async () => {
  const scene = new Scene()
  const [left, right] = [partitionOf(0), partitionOf(1)]
  scene.store(left, 0)
  scene.store(right, 0)
  scene.outbox.acknowledged(scene.batch(0))
  await scene.outbox.settle([left, right])
  assert.deepEqual(scene.told, ['input/0 to 1'])
})
