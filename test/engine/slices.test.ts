import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Capability, defineService, text, topic } from '../../src/index.ts'
import type { Store, StoreTransaction } from '../../src/ports/store.ts'
import { ManualClock, memoryStore, testRuntime } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'
import { unreachable } from '../cases/faulty-store.ts'
import { storeOver } from '../cases/store-over.ts'
import { MemoryTable } from '../testing/transactional-memory-store.ts'

interface Table {
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
