import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineService, text, topic } from '../../src/index.ts'
import type { LedgerRow, Store } from '../../src/ports/store.ts'
import { progress, record } from '../../src/testing/store-contract/store-probe.ts'
import type { Cluster } from './lives/cluster.ts'

/** A kind of store that can be set back, as by a fail-over to a replica that was behind. */
export interface FailOverSetup {
  newCluster(): Cluster
  newStore(): Store
  /** Takes a snapshot of everything; what it gives sets the store back to it. */
  snapshot(): Promise<() => Promise<void>>
}

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })
const place = { topic: 'input', partition: 0 }

/** A service that is at rest when its store loses what it has confirmed. */
class Scene {
  readonly #setup: FailOverSetup
  readonly cluster: Cluster
  readonly store: Store
  readonly handled: string[] = []
  readonly service
  /** What publishing waits for. */
  gate: Promise<void> | undefined

  constructor(name: string, setup: FailOverSetup) {
    this.#setup = setup
    this.cluster = setup.newCluster()
    this.store = setup.newStore()
    const { handled } = this
    this.service = defineService(name, {
      inputs: [input],
      outputs: [output],
      state: text,
      async handle({ key, value }, { state }) {
        handled.push(value)
        const next = `${(await state.get()) ?? ''}${value}`
        await state.put(next)
        return output.message({ key, value: next })
      },
    })
  }

  async start() {
    await this.store.open()
    await this.cluster.createTopics(input, output)
    const runtime = await this.cluster.start(this.service, {
      watch: { publishing: () => this.gate },
    })
    await this.cluster.until('it has begun', () => this.cluster.isSettled(this.service))
    return runtime
  }

  /** Sends a message, and waits until nothing is left to do for it. */
  async work(value: string): Promise<void> {
    await this.cluster.send(input.message({ key: 'k', value }))
    await this.cluster.until(`${value} is done`, () => this.cluster.isSettled(this.service))
    await this.cluster.until('the store knows', async () => {
      return (await this.store.unpublished(this.service.name, -1_000)).length === 0
    })
  }

  snapshot(): Promise<() => Promise<void>> {
    return this.#setup.snapshot()
  }

  async state(): Promise<string | undefined> {
    const { states } = await this.store.load(this.service.name, [Buffer.from('k')], [])
    return states[0]?.value?.toString()
  }

  /** What somebody else takes over. */
  async acquire(): Promise<LedgerRow> {
    const [row] = await this.store.acquire(this.service.name, [{ ...place, topicId: 'other' }])
    assert.ok(row)
    return row
  }

  async outputs(): Promise<readonly (readonly [string, string])[]> {
    const records = await this.cluster.records(output)
    return records.map(({ value, headers }) => [String(headers[0]?.value), String(value)])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cluster[Symbol.dispose]()
    await this.store.close()
  }
}

/** What an owner does whose store has lost commits, on a kind of store. */
export function failOverCases(name: string, setup: FailOverSetup): void {
  test(`R2: an owner that is at rest notices that its last unit was lost, and does it again, once; ${name}`, async () => {
    await using scene = new Scene('fail-over-idle', setup)
    const runtime = await scene.start()
    await scene.work('a')
    const setBack = await scene.snapshot()
    await scene.work('b')
    await setBack()
    assert.equal(await scene.state(), 'a')
    await scene.cluster.until('b is there again', async () => (await scene.state()) === 'ab')
    await scene.work('c')
    assert.equal(await scene.state(), 'abc')
    assert.deepEqual(scene.handled, ['a', 'b', 'b', 'c'])
    const outputs = await scene.outputs()
    assert.deepEqual(
      outputs.map(([, value]) => value),
      ['a', 'ab', 'ab', 'abc'],
    )
    assert.equal(outputs[1]?.[0], outputs[2]?.[0], 'under the same id')
    assert.equal(runtime.counts[0]?.restarts, 1)
  })

  test(`R2: an owner whose store has lost all of its units begins where it began; ${name}`, async () => {
    await using scene = new Scene('fail-over-first', setup)
    const runtime = await scene.start()
    const setBack = await scene.snapshot()
    await scene.work('a')
    await scene.work('b')
    await setBack()
    assert.equal(await scene.state(), undefined)
    await scene.cluster.until('both are there again', async () => (await scene.state()) === 'ab')
    assert.deepEqual(scene.handled, ['a', 'b', 'a', 'b'])
    assert.equal(runtime.counts[0]?.restarts, 1)
  })

  test(`R2: after a fail-over a former owner, whose epoch was lost with its takeover, neither commits nor deletes; ${name}`, async () => {
    await using scene = new Scene('fail-over-former', setup)
    await scene.start()
    await scene.work('a')
    const setBack = await scene.snapshot()
    await scene.work('b')
    const former = await scene.acquire()
    await setBack()
    const gate = Promise.withResolvers<void>()
    scene.gate = gate.promise
    await scene.cluster.until('b is stored', async () => (await scene.state()) === 'ab')
    const left = async () => (await scene.store.unpublished(scene.service.name, -1_000)).length
    assert.equal(await left(), 1)
    await scene.store.acknowledge(scene.service.name, [
      { ...place, epoch: former.epoch, unit: former.unit },
    ])
    assert.equal(await left(), 1, 'it deletes nothing')
    const ledger = [progress(former, 9, { outputs: [record('late')] })]
    const late = { service: scene.service.name, marks: [], states: [], ledger }
    assert.equal((await scene.store.commit(late)).outcome, 'fenced')
    gate.resolve()
    await scene.cluster.until('b is out again', async () => (await scene.outputs()).length === 3)
    await scene.work('c')
    assert.equal(await scene.state(), 'abc')
    assert.deepEqual(scene.handled, ['a', 'b', 'b', 'c'])
  })

  test(`R13: an owner whose acknowledgement came to nothing, as somebody has taken its partition and let it go, finds out at rest; ${name}`, async () => {
    await using scene = new Scene('fail-over-late', setup)
    const runtime = await scene.start()
    const gate = Promise.withResolvers<void>()
    scene.gate = gate.promise
    await scene.cluster.send(input.message({ key: 'k', value: 'a' }))
    await scene.cluster.until('a is stored', async () => (await scene.state()) === 'a')
    await scene.acquire()
    gate.resolve()
    await scene.cluster.until('the store has nothing left', async () => {
      return (await scene.store.unpublished(scene.service.name, -1_000)).length === 0
    })
    await scene.work('b')
    assert.deepEqual(scene.handled, ['a', 'b'])
    const outputs = await scene.outputs()
    assert.deepEqual(
      outputs.map(([, value]) => value),
      ['a', 'a', 'ab'],
    )
    assert.equal(outputs[0]?.[0], outputs[1]?.[0], 'under the same id')
    assert.equal(runtime.counts[0]?.restarts, 1)
  })
}
