import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Partition, Work } from '../../src/engine/partition.ts'
import { TransactionCommit } from '../../src/engine/transaction-commit.ts'
import { defineService, PolluxError, text, topic } from '../../src/index.ts'
import type { OutgoingRecord, Position, TransactionResult } from '../../src/ports/broker.ts'
import { eventually } from '../../src/testing/index.ts'
import { partitionOf, workOf } from './works.ts'

const recordOf = (value: string): OutgoingRecord => ({
  topic: 'output',
  partition: undefined,
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestamp: undefined,
})

/** A broker with transactions, and what has become of the messages. */
class Scene {
  /** What was committed, in order: the outputs by the names of their messages. */
  readonly written: string[] = []
  readonly positions = new Map<number, number>()
  readonly finished: Work[] = []
  readonly dropped: Work[] = []
  readonly refused: Work[] = []
  readonly errors: unknown[] = []
  readonly problems: string[] = []
  /** What becomes of the next transactions; committed when nothing is said. */
  readonly next: ('abort' | 'commit')[] = []
  /** The outputs that the broker never takes. */
  readonly unwanted = new Set<string>()
  readonly transactions: TransactionCommit

  constructor() {
    this.transactions = new TransactionCommit({
      transact: (records, positions) => this.#transact(records, positions),
      finished: (work) => void this.finished.push(work),
      dropped: (work) => void this.dropped.push(work),
      refused: (work) => void this.refused.push(work),
      pause: async () => {},
      letters: { topic: undefined, stopping: new AbortController().signal },
      broken: (error) => void this.errors.push(error),
    })
  }

  async #transact(
    records: readonly OutgoingRecord[],
    positions: readonly Position[],
  ): Promise<TransactionResult> {
    await new Promise(setImmediate)
    if (this.next.shift() === 'abort') return { outcome: 'aborted', refusals: [] }
    const refusals = records.flatMap(({ value }, index) =>
      this.unwanted.has(String(value)) ? [{ index, error: new Error('too large') }] : [],
    )
    if (refusals.length > 0) return { outcome: 'aborted', refusals }
    this.written.push(...records.map(({ value }) => String(value)))
    for (const { partition, offset } of positions) {
      if (offset <= (this.positions.get(partition) ?? 0))
        this.problems.push(`${partition} went back to ${offset}`)
      this.positions.set(partition, offset)
    }
    return { outcome: 'committed' }
  }
}

/** A finished message that has one output, named after it. */
function withOutput(partition: Partition, offset: number): Work {
  const work = workOf(partition, offset)
  work.outputs = [recordOf(String(work))]
  return work
}

const histories = fc
  .record({
    counts: fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 12 })),
    aborts: fc.array(fc.constantFrom('abort' as const, 'commit' as const), { maxLength: 5 }),
    /** A message that fails in its handler, and one whose output is refused. */
    failing: fc.option(fc.nat(30), { nil: undefined }),
    unwanted: fc.option(fc.nat(30), { nil: undefined }),
  })
  .chain((history) => {
    const total = history.counts[0] + history.counts[1]
    const indices = Array.from({ length: total }, (_, index) => index)
    return fc.record({
      history: fc.constant(history),
      order: fc.shuffledSubarray(indices, { minLength: total }),
      pauses: fc.array(fc.boolean(), { minLength: total, maxLength: total }),
    })
  })

test('R11: whatever the order of finishing, outputs and positions are committed together, without a gap and once', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async ({ history, order, pauses }) => {
      const scene = new Scene()
      const partitions = [partitionOf(0), partitionOf(1)]
      const works = history.counts.flatMap((count, index) =>
        Array.from({ length: count }, (_, offset) =>
          withOutput(partitions[index] as Partition, offset),
        ),
      )
      const failing = works[history.failing ?? -1]
      const unwanted = works[history.unwanted ?? -1]
      if (unwanted !== undefined) scene.unwanted.add(String(unwanted))
      scene.next.push(...history.aborts)
      for (const index of order) {
        const work = works[index] as Work
        if (work === failing) scene.transactions.stopAt(work)
        else scene.transactions.add(work)
        if (pauses[index] === true) await new Promise(setImmediate)
      }
      const isOver = (work: Work): boolean =>
        work === failing ||
        [scene.finished, scene.dropped, scene.refused].some((list) => list.includes(work))
      await eventually('all is over', () => works.every(isOver), { deadline: 5_000, every: 1 })
      assert.deepEqual([scene.errors, scene.problems], [[], []])
      for (const partition of partitions) {
        const own = works.filter((work) => work.partition === partition)
        const end = Math.min(
          ...own.filter((work) => work === failing || work === unwanted).map((one) => one.place),
          own.length,
        )
        assert.equal(scene.positions.get(partition.partition) ?? 0, end)
        assert.deepEqual(
          scene.written.filter((name) => name.startsWith(`${partition}/`)),
          own.slice(0, end).map(String),
        )
        assert.equal(partition.done, end)
      }
    }),
  )
})

test('R11: a message behind a gap is not committed before the gap is closed', async () => {
  const scene = new Scene()
  const partition = partitionOf()
  const [first, second] = [withOutput(partition, 0), withOutput(partition, 1)]
  scene.transactions.add(second)
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate)
  assert.deepEqual(scene.written, [])
  scene.transactions.add(first)
  await eventually('both are committed', () => scene.finished.length === 2)
  assert.deepEqual(scene.written, ['input/0/0', 'input/0/1'])
})

test('what has finished for a partition that has gone is dropped', async () => {
  const scene = new Scene()
  const [left, right] = [partitionOf(0), partitionOf(1)]
  const [lost, kept] = [withOutput(left, 0), withOutput(right, 0)]
  scene.transactions.add(lost)
  left.end()
  scene.transactions.add(kept)
  await eventually('the other is committed', () => scene.finished.includes(kept))
  assert.deepEqual([scene.dropped, scene.written], [[lost], ['input/1/0']])
})

test('R11: transactions of the broker and a store are refused together', () => {
  const input = topic('input', { key: text, value: text })
  for (const kept of [{ state: text }, { idempotency: { by: 'event-id' } }] as const) {
    assert.throws(
      () =>
        defineService('service', { inputs: [input], publish: 'transaction', ...kept, handle() {} }),
      (error) =>
        PolluxError.is(error, 'POLLUX_OPTION_INVALID') && /publish: .*store/.test(error.message),
    )
  }
})
