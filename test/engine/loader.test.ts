import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Loader, type LoaderParts } from '../../src/engine/loader.ts'
import type { Work } from '../../src/engine/partition.ts'
import { StateCells } from '../../src/engine/state-cells.ts'
import { bytes, defineService, type Service, topic } from '../../src/index.ts'
import type { Loaded } from '../../src/ports/store.ts'
import { eventually } from '../../src/testing/index.ts'
import { partitionOf, workOf } from './works.ts'

const input = topic('input', { value: bytes })

const stateful = defineService('service', {
  inputs: [input],
  state: bytes,
  idempotency: { by: 'event-id' },
  handle() {},
})

interface Read {
  readonly keys: readonly string[]
  readonly ids: readonly string[]
  answer(loaded?: Partial<Loaded>): void
}

/** A loader over a store that answers when the test says so. */
function loading(service: Service = stateful) {
  const reads: Read[] = []
  const seen = { loaded: 0, resumed: [] as Work[], idsMissing: 0, errors: [] as unknown[] }
  const cells = new StateCells()
  const load: LoaderParts['load'] = (keys, marks) => {
    const { promise, resolve } = Promise.withResolvers<Loaded>()
    reads.push({
      keys: keys.map(String),
      ids: marks.map(({ id }) => String(id)),
      answer: (loaded = {}) =>
        resolve({
          states: keys.map(() => ({ value: null, version: 0, guard: null })),
          applied: marks.map(() => false),
          ...loaded,
        }),
    })
    return promise
  }
  const loader = new Loader({
    service,
    cells,
    load,
    loaded: () => void (seen.loaded += 1),
    resume: (work) => void seen.resumed.push(work),
    idMissing: () => void (seen.idsMissing += 1),
    broken: (error) => void seen.errors.push(error),
  })
  return { loader, cells, reads, seen }
}

const withId = (id: string) => ({ headers: [{ name: 'id', value: Buffer.from(id) }] })
const key = (text: string) => ({ key: Buffer.from(text) })

test('what is fetched in one turn is one read, and what is fetched meanwhile the next one', async () => {
  const { loader, reads, seen } = loading()
  const partition = partitionOf()
  const works = [
    workOf(partition, 0, { ...key('a'), ...withId('1') }),
    workOf(partition, 1, { ...key('b'), ...withId('2') }),
    workOf(partition, 2, { ...key('a'), ...withId('3') }),
  ]
  for (const work of works) loader.add(work)
  await eventually('the store is asked', () => reads.length === 1)
  for (const offset of [3, 4]) loader.add(workOf(partition, offset, key('c')))
  assert.deepEqual(
    [reads[0]?.keys, reads[0]?.ids],
    [
      ['a', 'b'],
      ['1', '2', '3'],
    ],
  )
  assert.ok(works.every(({ effects }) => effects?.isLoaded === false))
  reads[0]?.answer({
    states: [
      { value: Buffer.from('A'), version: 7, guard: '1@input/0/0' },
      { value: null, version: 0, guard: null },
    ],
    applied: [false, true, false],
  })
  await eventually('it is asked again', () => reads.length === 2)
  assert.equal(seen.loaded, 1)
  assert.deepEqual([reads[1]?.keys, reads[1]?.ids], [['c'], []])
  const [a, b, again] = works.map(({ effects }) => effects)
  assert.deepEqual([a?.isLoaded, a?.isApplied, b?.isApplied], [true, false, true])
  assert.deepEqual([String(a?.cell?.value), a?.cell?.version], ['A', 7])
  assert.equal(again?.cell, a?.cell, 'messages of a key share its state')
  assert.equal(seen.idsMissing, 2)
})

test('a key that is in work is not read again', async () => {
  const { loader, reads, seen } = loading()
  const partition = partitionOf()
  loader.add(workOf(partition, 0, key('a')))
  await eventually('it is read', () => reads.length === 1)
  reads[0]?.answer()
  await eventually('it is loaded', () => seen.loaded === 1)
  const next = workOf(partition, 1, key('a'))
  loader.add(next)
  await eventually('the next one is loaded', () => seen.loaded === 2)
  assert.equal(reads.length, 1)
  assert.ok(next.effects?.cell)
})

test('a partition that closes while its keys are read keeps none of them', async () => {
  const { loader, cells, reads, seen } = loading()
  const partition = partitionOf()
  partition.forgotten = (work) => loader.giveBack(work)
  const works = ['a', 'b'].map((name, offset) => workOf(partition, offset, key(name)))
  for (const work of works) {
    partition.queue.push(work)
    loader.add(work)
  }
  await eventually('they are read', () => reads.length === 1)
  partition.close()
  reads[0]?.answer()
  await eventually('they are loaded', () => seen.loaded === 1)
  for (const name of ['a', 'b']) assert.ok(cells.take(name, Buffer.from(name)).isNew, name)
})

test('a message that is loaded again gets the state as it is now, and goes on by itself', async () => {
  const { loader, cells, reads, seen } = loading()
  const work = workOf(partitionOf(), 0, key('a'))
  loader.add(work)
  await eventually('it is read', () => reads.length === 1)
  reads[0]?.answer()
  await eventually('it is loaded', () => seen.loaded === 1)
  assert.ok(work.effects?.cell)
  cells.invalidate(work.effects.cell)
  assert.equal(work.effects.isReady, false)
  loader.again(work)
  await eventually('it is read again', () => reads.length === 2)
  reads[1]?.answer({ states: [{ value: Buffer.from('new'), version: 2, guard: null }] })
  await eventually('it goes on', () => seen.resumed.length === 1)
  assert.deepEqual([work.effects.isReady, String(work.effects.cell?.value)], [true, 'new'])
})

test('an id that cannot be told is the trouble of its own message', async () => {
  const service = defineService('service', {
    inputs: [input],
    idempotency: {
      by: 'event-id',
      id({ value }) {
        if (value.toString() === 'bad') throw new Error('no id in it')
        return value.toString()
      },
    },
    handle() {},
  })
  const { loader, reads, seen } = loading(service)
  const partition = partitionOf()
  const [bad, good] = ['bad', 'good'].map((text, offset) =>
    workOf(partition, offset, { value: Buffer.from(text) }),
  ) as [Work, Work]
  for (const work of [bad, good]) loader.add(work)
  await eventually('the store is asked', () => reads.length === 1)
  assert.deepEqual([reads[0]?.keys, reads[0]?.ids], [[], ['good']])
  reads[0]?.answer()
  await eventually('both are loaded', () => seen.loaded === 1)
  assert.match(String(bad.effects?.trouble), /no id in it/)
  assert.deepEqual([good.effects?.trouble, good.effects?.isLoaded], [undefined, true])
})
