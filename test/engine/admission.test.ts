import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Admission } from '../../src/engine/admission.ts'
import { Claims } from '../../src/engine/claims.ts'
import { Lanes } from '../../src/engine/lanes.ts'
import { Loader } from '../../src/engine/loader.ts'
import type { Partition, Work } from '../../src/engine/partition.ts'
import { StateCells } from '../../src/engine/state-cells.ts'
import { bytes, defineService, topic } from '../../src/index.ts'
import { eventually } from '../../src/testing/index.ts'
import { partitionOf, workOf } from './works.ts'

const service = defineService('service', {
  inputs: [topic('input', { value: bytes })],
  state: bytes,
  idempotency: { by: 'event-id' },
  handle() {},
})

/** Lanes with admission in front of the handlers, over an empty store. */
class Scene {
  readonly cells = new StateCells()
  readonly lanes = new Lanes('key', true)
  readonly admission: Admission
  readonly #loader: Loader
  #loads = 0

  constructor(...partitions: readonly Partition[]) {
    const { lanes } = this
    this.#loader = new Loader({
      service,
      cells: this.cells,
      load: async (keys, marks) => ({
        states: keys.map(() => ({ value: null, version: 0, guard: null })),
        applied: marks.map(() => false),
      }),
      loaded: () => void (this.#loads += 1),
      resume: (work) => lanes.resume(work),
      idMissing() {},
      broken(error) {
        throw error
      },
    })
    const claims = new Claims(100, (work) => lanes.resume(work))
    this.admission = new Admission({ lanes, loader: this.#loader, claims })
    for (const partition of partitions) {
      partition.forgotten = (work) => this.#loader.giveBack(work)
      lanes.add(partition)
    }
  }

  /** Fetches messages and loads them. */
  async fetch(...works: readonly Work[]): Promise<void> {
    const loads = this.#loads
    for (const work of works) {
      work.partition.queue.push(work)
      this.#loader.add(work)
    }
    await eventually('they are loaded', () => this.#loads > loads)
  }

  /** Starts what may start, and passes over what has had its effect. */
  start(): Work[] {
    const started: Work[] = []
    for (let work = this.lanes.next(); work !== undefined; work = this.lanes.next()) {
      const admitted = this.admission.admit(work)
      if (admitted === 'skip') this.end(work, true)
      if (admitted !== 'handle') continue
      this.lanes.enter(work)
      started.push(work)
    }
    return started
  }

  /** The handler has ended in vain: its state was changed by somebody else. */
  again(work: Work): void {
    this.lanes.again(work)
    this.admission.unclaim(work)
  }

  /** The handler has ended and the effect is durable, or it was dropped. */
  end(work: Work, isCommitted: boolean): void {
    this.lanes.leave(work)
    this.admission.leave(work, isCommitted)
  }
}

const event = (partition: Partition, offset: number, key: string, id: string): Work =>
  workOf(partition, offset, {
    key: Buffer.from(key),
    headers: [{ name: 'id', value: Buffer.from(id) }],
  })

test('R7: a copy keeps its place in the order of its key while it waits', async () => {
  const [left, right] = [partitionOf(0), partitionOf(1)]
  const scene = new Scene(left, right)
  const original = event(left, 0, 'a', 'e1')
  const [copy, next] = [event(right, 0, 'b', 'e1'), event(right, 1, 'b', 'e2')]
  await scene.fetch(original, copy, next)
  assert.deepEqual(scene.start(), [original])
  scene.end(original, false)
  assert.deepEqual(scene.start(), [copy], 'the original was dropped, so the copy is handled')
  scene.end(copy, true)
  assert.deepEqual(scene.start(), [next])
})

test('what waits behind a copy of a partition that has gone goes on', async () => {
  const [left, right, third] = [partitionOf(0), partitionOf(1), partitionOf(2)]
  const scene = new Scene(left, right, third)
  const original = event(left, 0, 'a', 'e1')
  const copy = event(right, 0, 'b', 'e1')
  const behind = event(third, 0, 'b', 'e2')
  await scene.fetch(original, copy, behind)
  assert.deepEqual(scene.start(), [original])
  right.end()
  scene.lanes.remove(right)
  scene.end(original, true)
  assert.deepEqual(scene.start(), [behind])
})

test('a message whose state was built on dropped work is held until that is read anew, and nothing overtakes it', async () => {
  const partition = partitionOf()
  const scene = new Scene(partition)
  const works = [0, 1, 2].map((offset) => event(partition, offset, 'a', `e${offset}`))
  await scene.fetch(...works)
  const [first, second, third] = works as [Work, Work, Work]
  assert.deepEqual(scene.start(), [first])
  assert.ok(first.effects?.cell)
  scene.cells.invalidate(first.effects.cell)
  scene.end(first, false)
  const started: Work[] = scene.start()
  assert.equal(started.length, 0, 'it is read anew first')
  const next = async (): Promise<Work> => {
    await eventually('one goes on', () => started.push(...scene.start()) > 0)
    return started.shift() as Work
  }
  assert.equal(await next(), second)
  assert.notEqual(second.effects?.cell, first.effects.cell)
  assert.deepEqual(scene.start(), [])
  scene.end(second, true)
  assert.equal(await next(), third)
})

test('R7: a message that is handled again and a copy of its event in its own key do not wait for each other', async () => {
  for (const isCopyEarlier of [true, false]) {
    const [left, right] = [partitionOf(0), partitionOf(1)]
    const scene = new Scene(left, right)
    const original = event(left, isCopyEarlier ? 1 : 0, 'a', 'e1')
    const copy = event(right, isCopyEarlier ? 0 : 1, 'a', 'e1')
    await scene.fetch(original, copy)
    assert.deepEqual(scene.start(), [original])
    scene.lanes.leave(original)
    assert.deepEqual(scene.start(), [], 'the copy waits for what becomes of it')
    scene.again(original)
    const [first, second] = isCopyEarlier ? [copy, original] : [original, copy]
    assert.deepEqual(scene.start(), [first], 'the one that was fetched first')
    scene.end(first, true)
    assert.deepEqual(scene.start(), [], 'the other has no effect any more')
    assert.equal(second.effects?.isApplied, true)
  }
})
