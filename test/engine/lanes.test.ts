import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Lanes } from '../../src/engine/lanes.ts'
import { Effects, Partition, Work } from '../../src/engine/partition.ts'
import { bytes, topic } from '../../src/index.ts'
import type { Order } from '../../src/service-options.ts'

const numbers = topic('numbers', { value: bytes })

function partitionOf(index: number): Partition {
  return new Partition(numbers, index, 0, 0, '')
}

function work(partition: Partition, offset: number, key: string | null): Work {
  return new Work(
    {
      topic: 'numbers',
      partition: partition.partition,
      offset,
      timestamp: 0,
      key: key === null ? null : Buffer.from(key),
      value: null,
      headers: [],
    },
    partition,
  )
}

function lanesWith(order: Order, partitions: readonly Partition[]): Lanes {
  const lanes = new Lanes(order, false)
  for (const partition of partitions) lanes.add(partition)
  return lanes
}

function takeAll(lanes: Lanes): Work[] {
  const taken: Work[] = []
  for (let next = lanes.next(); next !== undefined; next = lanes.next()) {
    lanes.enter(next)
    taken.push(next)
  }
  return taken
}

const offsets = (works: readonly Work[]): number[] => works.map(({ offset }) => offset)

test('messages of a key wait for each other, other keys go on', () => {
  const partition = partitionOf(0)
  const lanes = lanesWith('key', [partition])
  for (const [offset, key] of ['a', 'a', 'b', 'a'].entries())
    partition.queue.push(work(partition, offset, key))
  const first = takeAll(lanes)
  assert.deepEqual(offsets(first), [0, 2])
  assert.equal(partition.blocked, 2)
  const [a] = first
  assert.ok(a)
  lanes.leave(a)
  assert.deepEqual(offsets(takeAll(lanes)), [1])
  assert.equal(partition.blocked, 1)
})

test('order by partition lets one message of a partition run at a time', () => {
  const [left, right] = [partitionOf(0), partitionOf(1)]
  const lanes = lanesWith('partition', [left, right])
  for (const partition of [left, right]) {
    for (const offset of [0, 1]) partition.queue.push(work(partition, offset, `${offset}`))
  }
  assert.deepEqual(
    takeAll(lanes).map(({ partition, offset }) => [partition.partition, offset]),
    [
      [0, 0],
      [1, 0],
    ],
  )
})

test('without order everything may start', () => {
  const partition = partitionOf(0)
  const lanes = lanesWith('none', [partition])
  for (const offset of [0, 1, 2]) partition.queue.push(work(partition, offset, 'same'))
  assert.deepEqual(offsets(takeAll(lanes)), [0, 1, 2])
})

test('records without a key keep the order of their partition', () => {
  const partition = partitionOf(0)
  const lanes = lanesWith('key', [partition])
  for (const [offset, key] of [null, 'a', null].entries())
    partition.queue.push(work(partition, offset, key))
  assert.deepEqual(offsets(takeAll(lanes)), [0, 1])
})

test('a partition with a long backlog does not keep the others waiting', () => {
  const [busy, quiet] = [partitionOf(0), partitionOf(1)]
  const lanes = lanesWith('key', [busy, quiet])
  for (let offset = 0; offset < 1_000; offset += 1)
    busy.queue.push(work(busy, offset, `k${offset}`))
  quiet.queue.push(work(quiet, 0, 'q'))
  const firstTwo = [lanes.next(), lanes.next()]
  assert.ok(firstTwo.some((next) => next?.partition === quiet))
})

test('messages of a closed partition are not started, those that wait behind them are', () => {
  const [closed, open] = [partitionOf(0), partitionOf(1)]
  const lanes = new Lanes('key', true)
  lanes.add(closed)
  lanes.add(open)
  closed.queue.push(work(closed, 0, 'k'))
  closed.queue.push(work(closed, 1, 'k'))
  const running = lanes.next()
  assert.ok(running)
  lanes.enter(running)
  open.queue.push(work(open, 0, 'k'))
  assert.equal(lanes.next(), undefined)
  closed.close()
  lanes.leave(running)
  assert.equal(lanes.next()?.partition, open)
})

test('whatever is interleaved, each message starts once, in the order of its key, one of a key at a time', () => {
  const messages = fc.array(
    fc.record({ partition: fc.nat(2), key: fc.constantFrom('a', 'b', 'c', null) }),
    { maxLength: 80 },
  )
  fc.assert(
    fc.property(
      messages,
      fc.array(fc.nat(20)),
      fc.constantFrom<Order[]>('key', 'partition'),
      (input, choices, order) => {
        const partitions = [0, 1, 2].map(partitionOf)
        const lanes = lanesWith(order, partitions)
        for (const [offset, { partition: index, key }] of input.entries()) {
          const partition = partitions[index]
          assert.ok(partition)
          partition.queue.push(work(partition, offset, key))
        }
        const running: Work[] = []
        const started: Work[] = []
        const laneOf = ({ partition, raw }: Work): string =>
          `${partition.partition} ${order === 'key' && raw.key !== null ? raw.key.toString() : ''}`
        for (let step = 0; started.length < input.length || running.length > 0; step += 1) {
          const next =
            (choices[step % (choices.length || 1)] ?? 0) % 2 === 0 || running.length === 0
              ? lanes.next()
              : undefined
          if (next === undefined) {
            const [done] = running.splice(
              (choices[step % (choices.length || 1)] ?? 0) % running.length,
              1,
            )
            assert.ok(done, 'something runs when nothing may start')
            lanes.leave(done)
            continue
          }
          assert.ok(!running.some((other) => laneOf(other) === laneOf(next)))
          lanes.enter(next)
          running.push(next)
          started.push(next)
        }
        assert.equal(new Set(started).size, input.length)
        for (const lane of new Set(started.map(laneOf))) {
          const inLane = offsets(started.filter((one) => laneOf(one) === lane))
          assert.deepEqual(
            inLane,
            inLane.toSorted((a, b) => a - b),
          )
        }
      },
    ),
  )
})

test('what waits behind others of a partition that closes is not started, whatever order it was fetched in', () => {
  const [left, right] = [partitionOf(0), partitionOf(1)]
  const lanes = new Lanes('key', true)
  for (const partition of [left, right]) lanes.add(partition)
  const forgotten: Work[] = []
  right.forgotten = (one) => void forgotten.push(one)
  const inTurn = (partition: Partition, offset: number, turn: number): Work => {
    const { raw } = work(partition, offset, 'a')
    const effects = new Effects(turn)
    effects.isLoaded = true
    return new Work(raw, partition, effects)
  }
  const [l0, l1] = [inTurn(left, 0, 0), inTurn(left, 1, 5)]
  const [r0, r1] = [inTurn(right, 0, 1), inTurn(right, 1, 2)]
  for (const one of [l0, r0]) one.partition.queue.push(one)
  assert.deepEqual(takeAll(lanes), [l0])
  for (const one of [l1, r1]) {
    one.partition.queue.push(one)
    assert.deepEqual(takeAll(lanes), [])
  }
  right.close()
  lanes.leave(l0)
  assert.deepEqual(takeAll(lanes), [l1])
  lanes.leave(l1)
  assert.deepEqual(takeAll(lanes), [])
  assert.deepEqual(forgotten, [r0, r1])
  assert.equal(right.blocked, 0)
})
