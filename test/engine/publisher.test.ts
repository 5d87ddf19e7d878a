import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Publisher } from '../../src/engine/publisher.ts'
import { PolluxError } from '../../src/index.ts'
import type { BrokerProducer, OutgoingRecord, Refusal } from '../../src/ports/broker.ts'
import { eventually } from '../../src/testing/index.ts'

interface Publication {
  readonly name: string
  readonly partition: { hasEnded: boolean; isStuck: boolean }
  readonly outputs: readonly OutgoingRecord[]
}

const recordOf = (value: string): OutgoingRecord => ({
  topic: 'output',
  partition: undefined,
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestamp: undefined,
})

/** A publisher over a producer that answers when the test says so. */
class Scene {
  readonly batches: { readonly values: string[]; answer(refusals?: readonly Refusal[]): void }[] =
    []
  readonly log: string[] = []
  readonly publisher: Publisher<Publication>
  readonly partition = { hasEnded: false, isStuck: false }

  constructor() {
    const producer = {
      send: (records: readonly OutgoingRecord[]) => {
        const { promise, resolve } = Promise.withResolvers<readonly Refusal[]>()
        this.batches.push({
          values: records.map(({ value }) => String(value)),
          answer: (refusals = []) => resolve(refusals),
        })
        return promise
      },
    } as unknown as BrokerProducer
    this.publisher = new Publisher<Publication>(producer, {
      acknowledged: ({ name }) => void this.log.push(name),
      refused: ({ name, partition }, error) => {
        assert.ok(PolluxError.is(error, 'POLLUX_OUTPUT_REFUSED'))
        partition.isStuck = true
        this.log.push(`${name} refused`)
      },
      broken: () => void this.log.push('broken'),
    })
  }

  add(name: string, outputs: number, partition = this.partition): void {
    const values = Array.from({ length: outputs }, (_, index) => `${name}${index}`)
    this.publisher.add({ name, partition, outputs: values.map(recordOf) })
  }

  async batch(n: number): Promise<Scene['batches'][0]> {
    return await eventually(`batch ${n}`, () => this.batches[n - 1])
  }
}

test('R12: outputs leave first in, first out; nothing is sent while an earlier one is on its way', async () => {
  const scene = new Scene()
  scene.add('a', 2)
  scene.add('none', 0)
  scene.add('b', 1)
  const first = await scene.batch(1)
  scene.add('c', 1)
  scene.add('d', 1)
  await new Promise(setImmediate)
  assert.deepEqual([first.values, scene.batches.length, scene.log], [['a0', 'a1', 'b0'], 1, []])
  first.answer()
  const second = await scene.batch(2)
  assert.deepEqual(scene.log, ['a', 'none', 'b'], 'what has no outputs keeps its place')
  assert.deepEqual(second.values, ['c0', 'd0'])
  second.answer()
  await eventually('all are acknowledged', () => scene.log.length === 5)
})

test('R12: nothing of a partition is sent behind an output that was refused; others go on', async () => {
  const scene = new Scene()
  const other = { hasEnded: false, isStuck: false }
  scene.add('a', 2)
  scene.add('other', 1, other)
  const first = await scene.batch(1)
  scene.add('b', 1)
  scene.add('next', 1, other)
  first.answer([{ index: 1, error: new Error('too large') }])
  const second = await scene.batch(2)
  assert.deepEqual(second.values, ['next0'])
  second.answer()
  await eventually('it is over', () => scene.log.length === 4)
  assert.deepEqual(scene.log, ['a refused', 'other', 'b', 'next'])
})

test('nothing of a partition that has gone is sent: its next owner does so', async () => {
  const scene = new Scene()
  scene.add('a', 1)
  const first = await scene.batch(1)
  scene.add('b', 1)
  scene.partition.hasEnded = true
  first.answer()
  await eventually('it is over', () => scene.log.length === 2)
  assert.equal(scene.batches.length, 1)
})
