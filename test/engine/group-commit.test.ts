import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupCommit } from '../../src/engine/group-commit.ts'
import type { Partition, Work } from '../../src/engine/partition.ts'
import { StateCells } from '../../src/engine/state-cells.ts'
import type { CommitResult, Loaded, Unit } from '../../src/ports/store.ts'
import { eventually } from '../../src/testing/index.ts'
import { partitionOf, workOf } from './works.ts'

const conflict: CommitResult = { outcome: 'conflict' }

interface Commit {
  readonly unit: Unit
  answer(result?: CommitResult): void
}

/** A group commit over a store that answers when the test says so. */
class Scene {
  readonly commits: Commit[] = []
  readonly stored: Work[] = []
  readonly dropped: Work[] = []
  readonly again: Work[] = []
  readonly overtaken: string[] = []
  readonly errors: unknown[] = []
  readonly cells = new StateCells()
  /** What finishes in the same turn is one unit. */
  room: Promise<void> | undefined = Promise.resolve()
  loaded: Loaded = { states: [], applied: [] }
  readonly groupCommit: GroupCommit

  constructor() {
    this.groupCommit = new GroupCommit({
      service: 'service',
      largestUnit: undefined,
      storesOutputs: true,
      commit: (unit) => this.#commit(unit),
      room: () => this.room,
      load: async () => this.loaded,
      commits: {
        stored: ({ works }) => void this.stored.push(...works),
        dropped: (work) => void this.dropped.push(work),
        again: (works) => void this.again.push(...works),
        overtaken: async (partitions, isFenced) => {
          this.overtaken.push(`${partitions.map(String).join(' ')}${isFenced ? ', fenced' : ''}`)
          for (const partition of partitions) partition.end()
        },
        broken: (error) => void this.errors.push(error),
      },
    })
  }

  #commit(unit: Unit): Promise<CommitResult> {
    const { promise, resolve } = Promise.withResolvers<CommitResult>()
    const versions = unit.states.map((_, index) => index + 1)
    this.commits.push({
      unit,
      answer: (result = { outcome: 'committed', versions }) => resolve(result),
    })
    return promise
  }

  /** A message whose handler has changed its key's state. */
  finish(partition: Partition, offset: number, key: string): Work {
    const work = workOf(partition, offset, { key: Buffer.from(key) })
    assert.ok(work.effects)
    const { cell } = this.cells.take(key, Buffer.from(key))
    work.effects.cell = cell
    work.effects.begin()
    cell.value = Buffer.from(`${offset}`)
    work.effects.change = { value: cell.value, guard: null }
    this.groupCommit.add(work)
    return work
  }

  /** The store is asked for the n-th time. */
  async commit(n: number): Promise<Commit> {
    return await eventually(`commit ${n}`, () => this.commits[n - 1])
  }
}

const keysOf = ({ unit }: Commit): string[] => unit.states.map(({ key }) => String(key))

test('one unit is under way at a time, and the next one takes all that has finished since', async () => {
  const scene = new Scene()
  const partition = partitionOf()
  const first = scene.finish(partition, 0, 'a')
  const one = await scene.commit(1)
  const later = [scene.finish(partition, 1, 'b'), scene.finish(partition, 2, 'c')]
  assert.deepEqual([keysOf(one), scene.commits.length], [['a'], 1])
  one.answer()
  const two = await scene.commit(2)
  assert.deepEqual(scene.stored, [first])
  assert.deepEqual(keysOf(two), ['b', 'c'])
  assert.deepEqual([two.unit.ledger[0]?.unit, two.unit.ledger[0]?.next], [1, 3])
  two.answer()
  await eventually('all is stored', () => scene.stored.length === 3)
  assert.deepEqual(scene.stored.slice(1), later)
  assert.deepEqual([partition.unit, partition.done], [2, 3])
})

test('R12: nothing more is stored while there is no room for more outputs', async () => {
  const scene = new Scene()
  const room = Promise.withResolvers<void>()
  scene.room = room.promise
  scene.finish(partitionOf(), 0, 'a')
  await new Promise(setImmediate)
  assert.equal(scene.commits.length, 0)
  room.resolve()
  await scene.commit(1)
})

test('work of a partition that has gone is dropped, the rest is stored', async () => {
  const scene = new Scene()
  const [left, right] = [partitionOf(0), partitionOf(1)]
  const lost = scene.finish(left, 0, 'a')
  left.end()
  const kept = scene.finish(right, 0, 'b')
  const one = await scene.commit(1)
  assert.deepEqual(keysOf(one), ['b'])
  one.answer()
  await eventually('it is stored', () => scene.stored.length === 1)
  assert.deepEqual([scene.dropped, scene.stored], [[lost], [kept]])
  assert.deepEqual(scene.overtaken, [])
})

test('R8: after a fence all work of the unit is dropped, and its partitions start anew', async () => {
  const scene = new Scene()
  const [left, right] = [partitionOf(0), partitionOf(1)]
  const works = [scene.finish(left, 0, 'a'), scene.finish(right, 0, 'b')]
  const one = await scene.commit(1)
  one.answer({ outcome: 'fenced' })
  await eventually('they start anew', () => scene.overtaken.length === 1)
  assert.deepEqual(scene.overtaken, ['input/0 input/1, fenced'])
  assert.deepEqual(scene.dropped, works)
  assert.deepEqual([left.unit, left.done, scene.stored], [0, 0, []])
})

test('R14: what was built on a value that was dropped is never stored, and its partition starts anew', async () => {
  const scene = new Scene()
  const [left, right] = [partitionOf(0), partitionOf(1)]
  scene.finish(left, 0, 'other')
  const one = await scene.commit(1)
  const built = scene.finish(left, 1, 'a')
  const sound = scene.finish(right, 0, 'b')
  // An earlier message of the key has failed meanwhile.
  assert.ok(built.effects?.cell)
  scene.cells.invalidate(built.effects.cell)
  one.answer()
  const two = await scene.commit(2)
  assert.deepEqual(keysOf(two), ['b'])
  two.answer()
  await eventually('the sound one is stored', () => scene.stored.includes(sound))
  assert.deepEqual([scene.dropped, scene.overtaken], [[built], ['input/0']])
})

test('R7: an event that another owner has applied meanwhile loses its effect, and the rest of the unit is stored', async () => {
  const scene = new Scene()
  const partition = partitionOf()
  const copy = scene.finish(partition, 0, 'a')
  const fresh = scene.finish(partition, 1, 'b')
  assert.ok(copy.effects && fresh.effects)
  for (const [effects, id] of [
    [copy.effects, 'e1'],
    [fresh.effects, 'e2'],
  ] as const) {
    effects.mark = Buffer.from(id)
    effects.claim = { isCommitted: false, waiting: undefined }
  }
  const one = await scene.commit(1)
  assert.deepEqual(
    one.unit.marks.map(({ id }) => String(id)),
    ['e1', 'e2'],
  )
  scene.loaded = {
    states: [
      { value: null, version: 0, guard: null },
      { value: null, version: 0, guard: null },
    ],
    applied: [true, false],
  }
  one.answer(conflict)
  const two = await scene.commit(2)
  assert.deepEqual([keysOf(two), two.unit.marks.map(({ id }) => String(id))], [['b'], ['e2']])
  assert.deepEqual(scene.again, [copy], 'its turn comes again, and it is none any more then')
  assert.equal(copy.effects.isApplied, true)
  two.answer()
  await eventually('the other is stored', () => scene.stored.includes(fresh))
  assert.deepEqual([scene.dropped, scene.overtaken], [[], []])
})

test('R14: when somebody else has changed a key, all that was made of it is handled again, also what has finished since', async () => {
  const scene = new Scene()
  const partition = partitionOf()
  const first = scene.finish(partition, 0, 'a')
  const other = scene.finish(partition, 1, 'b')
  const one = await scene.commit(1)
  const later = scene.finish(partition, 2, 'a')
  scene.loaded = {
    states: [
      { value: Buffer.from('theirs'), version: 9, guard: null },
      { value: null, version: 0, guard: null },
    ],
    applied: [],
  }
  one.answer(conflict)
  const two = await scene.commit(2)
  assert.deepEqual(scene.again, [first, later])
  assert.deepEqual(
    [String(first.effects?.cell?.value), first.effects?.cell?.version],
    ['theirs', 9],
  )
  assert.deepEqual(keysOf(two), ['b'])
  assert.deepEqual(
    [two.unit.ledger[0]?.next, two.unit.ledger[0]?.settled],
    [0, [{ from: 1, to: 2 }]],
  )
  two.answer()
  await eventually('the other key is stored', () => scene.stored.includes(other))
})

test('a conflict that nothing explains lets the partitions start anew', async () => {
  const scene = new Scene()
  const work = scene.finish(partitionOf(), 0, 'a')
  const one = await scene.commit(1)
  scene.loaded = { states: [{ value: null, version: 0, guard: null }], applied: [] }
  one.answer(conflict)
  await eventually('it starts anew', () => scene.overtaken.length === 1)
  assert.deepEqual([scene.overtaken, scene.dropped], [['input/0'], [work]])
})
