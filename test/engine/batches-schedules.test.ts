import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { type Capability, defineService, type Service, text, topic } from '../../src/index.ts'
import type { Store, StoreTransaction } from '../../src/ports/store.ts'
import { memoryStore, testRuntime } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { unreachable } from '../cases/faulty-store.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { MemoryTable } from '../testing/transactional-memory-store.ts'
import { kept } from './kept.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 3 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

interface Table {
  readonly written: ReadonlyMap<string, string>
  write(key: string, value: string): void
}

const memoryTable: Capability<Table> = { name: 'memoryTable' }

interface Plan {
  readonly keys: readonly string[]
  readonly kind: 'storeless' | 'transaction' | 'stored' | 'direct' | 'events' | 'own rows'
  readonly batch: number
  readonly concurrency: number
  readonly order: 'key' | 'partition'
  /** The message that fails in each of the first runs; none when it is not there. */
  readonly failing: readonly number[]
  /** What fails is told by the result, instead of being thrown. */
  readonly tells: boolean
  readonly waits: boolean
  /** The attempt, of all that are made in transactions, that its transaction does not survive. */
  readonly broken: number
}

const plans: fc.Arbitrary<Plan> = fc.record({
  keys: fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 50 }),
  kind: fc.constantFrom('storeless', 'transaction', 'stored', 'direct', 'events', 'own rows'),
  batch: fc.constantFrom(1, 2, 3, 7, 500),
  concurrency: fc.constantFrom(1, 2, 3),
  order: fc.constantFrom('key', 'partition'),
  failing: fc.array(fc.nat(60), { maxLength: 3 }),
  tells: fc.boolean(),
  waits: fc.boolean(),
  broken: fc.nat(15),
})

/** One run after the other over the same broker and store. */
class World {
  readonly #plan: Plan
  readonly #broker = kept(embeddedBroker())
  readonly #data = new MemoryStoreData()
  readonly #busy = new Set<number>()
  #attempts = 0
  readonly table = new MemoryTable()
  outputs: readonly { readonly key: string; readonly value: string }[] = []

  constructor(plan: Plan) {
    this.#plan = plan
  }

  /** Sends these, lets that message fail, and comes to an end by itself when it did. */
  async run(values: readonly string[], failing: string | undefined): Promise<boolean> {
    const { keys, kind } = this.#plan
    const runtime = await testRuntime(this.#service(failing), {
      broker: this.#broker,
      ...(kind === 'storeless' || kind === 'transaction' ? {} : { store: this.#store() }),
    })
    // Each event is written twice where copies are known by its id.
    const copies = kind === 'events' ? 2 : 1
    for (let copy = 0; copy < copies; copy += 1)
      await runtime.send(
        ...values.map((value) =>
          input.message({ key: keys[Number(value)] ?? '', value, headers: { id: value } }),
        ),
      )
    const hasFailed = await runtime.settled().then(
      () => false,
      () => true,
    )
    if (!hasFailed) this.outputs = await runtime.messages(output)
    await runtime.stop().catch((error: unknown) => {
      assert.match(String(error), /as planned/)
    })
    return hasFailed
  }

  #store(): Store {
    const store = this.table.join(memoryStore(this.#data))
    const { transactions } = store
    assert.ok(transactions)
    const begin = async () => this.#fragile(await transactions.begin())
    return storeOver(store, { transactions: { capability: transactions.capability, begin } })
  }

  #fragile(transaction: StoreTransaction): StoreTransaction {
    let broken: Error | undefined
    return {
      get broken() {
        return broken
      },
      attempt: (body) =>
        transaction.attempt(async (capability) => {
          this.#attempts += 1
          const value = await body(capability)
          if (this.#attempts !== this.#plan.broken) return value
          broken = unreachable()
          throw broken
        }),
      commit: (unit) => transaction.commit(unit),
      rollback: () => transaction.rollback(),
    }
  }

  #service(failing: string | undefined): Service {
    const { kind, batch, concurrency, order, tells, waits } = this.#plan
    return defineService('copying', {
      ...stopsAtFailure,
      inputs: [input],
      outputs: [output],
      batch,
      concurrency,
      order,
      ...(kind === 'transaction' && { publish: 'transaction' }),
      ...(kind === 'direct' && { idempotency: { by: 'offset' }, publish: 'direct' }),
      ...(kind === 'stored' && { idempotency: { by: 'offset' } }),
      ...(kind === 'events' && { idempotency: { by: 'event-id' } }),
      ...(kind === 'own rows' && { uses: { db: memoryTable } }),
      handleMany: async (messages, context) => {
        assert.ok(messages.length >= 1 && messages.length <= batch)
        const leave = this.#enter(messages)
        if (waits) await new Promise(setImmediate)
        leave()
        const { db } = context as { db?: Table }
        for (const { key, value } of messages)
          db?.write(key, `${db.written.get(key) ?? this.table.rows.get(key) ?? ''} ${value}`)
        if (!tells && messages.some(({ value }) => value === failing)) throw new Error('as planned')
        return messages.map((message) =>
          message.value === failing
            ? { message, error: new Error('as planned') }
            : { message, outputs: output.message({ key: message.key, value: message.value }) },
        )
      },
    })
  }

  /** A partition's messages are in one call at a time, in the order of the log. */
  #enter(messages: readonly { readonly partition: number; readonly offset: bigint }[]): () => void {
    const partitions = Map.groupBy(messages, ({ partition }) => partition)
    for (const [partition, own] of partitions) {
      assert.ok(!this.#busy.has(partition), 'one call at a time for a partition')
      this.#busy.add(partition)
      const offsets = own.map(({ offset }) => Number(offset))
      assert.deepEqual(
        offsets,
        offsets.toSorted((a, b) => a - b),
      )
    }
    return () => {
      for (const partition of partitions.keys()) this.#busy.delete(partition)
    }
  }
}

test('batches: whatever fails, no message is lost, each has its effects once, and those of a key come in their order', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const world = new World(plan)
      const values = plan.keys.map((_, index) => `${index}`)
      let left = values
      for (const failing of plan.failing) {
        const hasFailed = await world.run(left, `${failing}`)
        left = []
        if (!hasFailed) break
      }
      assert.equal(await world.run(left, undefined), false)
      for (const [key, own] of Map.groupBy(values, (value) => plan.keys[Number(value)] ?? '')) {
        const published = world.outputs.filter((one) => one.key === key).map(({ value }) => value)
        assert.deepEqual(published, own, `outputs of ${key}`)
        if (plan.kind === 'own rows')
          assert.equal(world.table.rows.get(key), ` ${own.join(' ')}`, `rows of ${key}`)
      }
    }),
    { numRuns: Number(process.env['POLLUX_SCHEDULES'] ?? 150) },
  )
})
