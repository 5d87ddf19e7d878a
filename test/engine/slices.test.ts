import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Capability, defineService, text, topic } from '../../src/index.ts'
import type { Store, StoreTransaction } from '../../src/ports/store.ts'
import { ManualClock, memoryStore, testRuntime } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { unreachable } from '../cases/faulty-store.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { MemoryTable } from '../testing/transactional-memory-store.ts'

interface Table {
  readonly written: ReadonlyMap<string, string>
  write(key: string, value: string): void
}

const memoryTable: Capability<Table> = { name: 'memoryTable' }
const input = topic('input', { key: text, value: text, create: { partitions: 2 } })

const to = (partition: number, key: string, value: string) =>
  input.message({ key, value, partition })

/** A store whose transactions are changed by `change` before they are used. */
function changed(store: Store, change: (transaction: StoreTransaction) => StoreTransaction): Store {
  const { transactions } = store
  assert.ok(transactions)
  return storeOver(store, {
    transactions: {
      capability: transactions.capability,
      begin: async () => change(await transactions.begin()),
    },
  })
}

/** The same transaction, whose commit is done as `commit` says. */
function committing(
  transaction: StoreTransaction,
  commit: StoreTransaction['commit'],
): StoreTransaction {
  return {
    attempt: (body) => transaction.attempt(body),
    broken: undefined,
    rollback: () => transaction.rollback(),
    commit,
  }
}

test('a transaction whose end is unknown while the service stops is not passed over by the next one', async () => {
  const clock = new ManualClock()
  const table = new MemoryTable()
  const data = new MemoryStoreData()
  let commits = 0
  const store = changed(table.join(memoryStore(data, clock)), (transaction) =>
    committing(transaction, async (unit) => {
      commits += 1
      if (commits > 1) return await transaction.commit(unit)
      await transaction.rollback()
      throw unreachable()
    }),
  )
  const service = defineService('writing', {
    ...stopsAtFailure,
    inputs: [input],
    uses: { db: memoryTable },
    async handle({ key, value }, { db }) {
      if (value === 'bad') throw new Error('always')
      db.write(key, value)
      // The next message gets a transaction of its own.
      if (value === 'first') await clock.advance(1_000)
    },
  })
  const runtime = await testRuntime(service, { clock, store, bufferMessages: 100 })
  await runtime.send(to(0, 'x', 'bad'), to(1, 'a', 'first'), to(1, 'a', 'second'))
  await assert.rejects(runtime.settled(), /always/)
  await runtime.stop().catch(() => {})
  const row = data.ledger.get(JSON.stringify(['writing', 'input', 1]))
  assert.deepEqual(
    [row?.next ?? 0, row?.settled ?? [], table.rows.get('a')],
    [0, [], undefined],
    'both are done again at the next start, in their order',
  )
})

test('handlers run one after the other in one transaction, each seeing what earlier ones wrote, and it ends once for all', async () => {
  const table = new MemoryTable()
  const units: number[] = []
  const store = changed(table.join(memoryStore()), (transaction) =>
    committing(transaction, async (unit) => {
      units.push(unit.ledger.reduce((sum, { next }) => sum + next, 0))
      return await transaction.commit(unit)
    }),
  )
  let running = 0
  const service = defineService('writing', {
    ...stopsAtFailure,
    inputs: [input],
    uses: { db: memoryTable },
    async handle({ value }, { db }) {
      running += 1
      assert.equal(running, 1)
      await new Promise(setImmediate)
      db.write('all', `${db.written.get('all') ?? table.rows.get('all') ?? ''}${value}`)
      running -= 1
    },
  })
  await using runtime = await testRuntime(service, { store })
  await runtime.send(...[...'abcdefgh'].map((value) => to(0, value, value)))
  await runtime.settled()
  assert.equal(table.rows.get('all'), 'abcdefgh')
  assert.ok(units.length < 8, `${units.length} transactions for 8 messages`)
})

test('a message that fails takes back what it wrote itself, and those before it stay', async () => {
  const table = new MemoryTable()
  const service = defineService('writing', {
    ...stopsAtFailure,
    inputs: [input],
    uses: { db: memoryTable },
    async handle({ key, value }, { db }) {
      db.write(key, value)
      await new Promise(setImmediate)
      if (value === 'bad') throw new Error('always')
    },
  })
  const runtime = await testRuntime(service, { store: table.join(memoryStore()) })
  await runtime.send(
    to(0, 'a', 'good'),
    to(0, 'b', 'bad'),
    to(0, 'c', 'behind it'),
    to(1, 'd', 'elsewhere'),
  )
  await assert.rejects(runtime.settled(), /input\/0\/1 failed: always/)
  await runtime.stop().catch(() => {})
  assert.deepEqual([...table.rows].toSorted(), [
    ['a', 'good'],
    ['d', 'elsewhere'],
  ])
})

test('the end of a transaction is no fault of its messages: all are done again, once', async () => {
  const table = new MemoryTable()
  const handled: string[] = []
  let begun = 0
  const store = changed(table.join(memoryStore()), (transaction) => {
    begun += 1
    if (begun > 1) return transaction
    let broken: Error | undefined
    return {
      get broken() {
        return broken
      },
      attempt: (body) =>
        transaction.attempt(async (capability) => {
          const result = await body(capability)
          if (handled.length < 2) return result
          broken = unreachable()
          throw broken
        }),
      commit: (unit) => transaction.commit(unit),
      rollback: () => transaction.rollback(),
    }
  })
  const service = defineService('writing', {
    ...stopsAtFailure,
    inputs: [input],
    uses: { db: memoryTable },
    handle({ key, value }, { db }) {
      handled.push(value)
      const before = db.written.get(key) ?? table.rows.get(key) ?? ''
      db.write(key, `${before}${value}`)
    },
  })
  await using runtime = await testRuntime(service, { store })
  await runtime.send(to(0, 'k', '1'), to(0, 'k', '2'), to(0, 'k', '3'))
  await runtime.settled()
  assert.equal(table.rows.get('k'), '123')
  assert.deepEqual(handled, ['1', '2', '1', '2', '3'])
})

test('R7: of two copies of an event in one transaction the second waits for its end, and others do not', async () => {
  const table = new MemoryTable()
  const handled: string[] = []
  const service = defineService('writing', {
    ...stopsAtFailure,
    inputs: [input],
    idempotency: { by: 'event-id' },
    uses: { db: memoryTable },
    handle({ key, value }, { db }) {
      handled.push(value)
      db.write(key, value)
    },
  })
  await using runtime = await testRuntime(service, { store: table.join(memoryStore()) })
  const copy = (partition: number, key: string) =>
    input.message({ key, value: 'copied', partition, headers: { id: 'e1' } })
  await runtime.send(copy(0, 'a'), copy(0, 'b'), to(0, 'c', 'other'), copy(1, 'd'))
  await runtime.settled()
  assert.deepEqual(handled.toSorted(), ['copied', 'other'])
  assert.equal(table.rows.size, 2)
})
