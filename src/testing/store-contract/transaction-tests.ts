import assert from 'node:assert/strict'
import type { StoreTransaction } from '../../ports/store.ts'
import { setScene } from './scene.ts'
import { change, mark, stateRow } from './store-probe.ts'
import type { OwnRows, TransactionTest } from './transaction-probe.ts'

/** Ends of a transaction that take everything back, each on a scene's unit. */
const failures: Readonly<
  Record<
    string,
    (
      transaction: StoreTransaction,
      scene: Awaited<ReturnType<typeof setScene>>,
      own: OwnRows,
    ) => Promise<void>
  >
> = {
  async 'a conflict of a mark'(transaction, { unit }, own) {
    const marks = [...unit.marks, mark('m-there')]
    const result = await transaction.commit(own.unit({ ...unit, marks }))
    assert.deepEqual(result, { outcome: 'conflict' })
  },

  async 'a conflict of a state'(transaction, { unit }, own) {
    const states = [...unit.states.slice(1), change('added', 'late', 99)]
    const result = await transaction.commit(own.unit({ ...unit, states }))
    assert.deepEqual(result, { outcome: 'conflict' })
  },

  async 'a fenced partition'(transaction, { unit }, own) {
    const ledger = unit.ledger.map((one, index) => (index === 1 ? { ...one, unit: 0 } : one))
    const result = await transaction.commit(own.unit({ ...unit, ledger }))
    assert.deepEqual(result, { outcome: 'fenced' })
  },

  async 'a rollback'(transaction) {
    await transaction.rollback()
  },
}

const takenBack: readonly (readonly [string, TransactionTest])[] = Object.entries(failures).map(
  ([cause, end]) => [
    `${cause} takes back what attempts and unit wrote`,
    async (probe, own) => {
      const scene = await setScene(probe)
      const transaction = await own.begin()
      await own.attempt(transaction, 'a')
      await own.attempt(transaction, 'b')
      await end(transaction, scene, own)
      assert.deepEqual(await own.read('a', 'b'), [undefined, undefined])
      assert.deepEqual(await scene.look(), scene.before)
    },
  ],
)

/** How a transaction that handlers write in ends. */
export const transactionTests: Readonly<Record<string, TransactionTest>> = {
  ...Object.fromEntries(takenBack),

  async 'what attempts wrote is committed together with the unit'(probe, own) {
    const { unit, after, look } = await setScene(probe)
    const transaction = await own.begin()
    await own.attempt(transaction, 'a', 'one')
    await own.attempt(transaction, 'b', 'two')
    await own.attempt(transaction, 'a', 'three')
    const versions = await own.committed(transaction, unit)
    assert.deepEqual(await own.read('a', 'b'), ['three', 'two'])
    assert.deepEqual(await look(), after(versions))
  },

  async 'a transaction without attempts commits its unit'(probe, own) {
    const { unit, after, look } = await setScene(probe)
    const versions = await own.committed(await own.begin(), unit)
    assert.deepEqual(await look(), after(versions))
  },

  async 'attempts are committed with an empty unit'(_probe, own) {
    const transaction = await own.begin()
    await own.attempt(transaction, 'a')
    await own.committed(transaction)
    assert.deepEqual(await own.read('a'), ['written'])
  },

  async 'a unit that is repeated with its attempts is fenced, and they are taken back'(probe, own) {
    const { unit, after, look } = await setScene(probe)
    const first = await own.begin()
    await own.attempt(first, 'a', 'first')
    const versions = await own.committed(first, unit)
    const second = await own.begin()
    await own.attempt(second, 'a', 'second')
    assert.deepEqual(await second.commit(own.unit(unit)), { outcome: 'fenced' })
    assert.deepEqual(await own.read('a'), ['first'])
    assert.deepEqual(await look(), after(versions))
  },

  async 'rollback may be called again, and after a commit it takes nothing back'(probe, own) {
    const given = await own.begin()
    await own.attempt(given, 'a')
    await Promise.all([given.rollback(), given.rollback()])
    await given.rollback()
    const kept = await own.begin()
    await own.attempt(kept, 'b')
    const [version] = await own.committed(kept, { states: [change('k', 'v', 0)] })
    await kept.rollback()
    assert.deepEqual(await own.read('a', 'b'), [undefined, 'written'])
    assert.deepEqual(await probe.loadOne('k'), stateRow('v', version))
  },

  async 'nothing can be done with a transaction that has ended'(probe, own) {
    await probe.committed({ marks: [mark('there')] })
    const ends: readonly ((transaction: StoreTransaction) => Promise<unknown>)[] = [
      (transaction) => transaction.rollback(),
      (transaction) => own.committed(transaction),
      (transaction) => transaction.commit(own.unit({ marks: [mark('there')] })),
    ]
    for (const end of ends) {
      const transaction = await own.begin()
      await end(transaction)
      await assert.rejects(own.attempt(transaction, 'late'))
      await assert.rejects(transaction.commit(own.unit({ marks: [mark('late')] })))
    }
    assert.deepEqual(await own.read('late'), [undefined])
    assert.deepEqual(await probe.applied(mark('late')), [false])
  },

  async 'transactions that have ended hold nothing back'(probe, own) {
    await probe.committed({ marks: [mark('there')] })
    // More than a store has connections.
    for (let round = 0; round < 30; round += 1) {
      for (const end of ['commit', 'conflict', 'rollback'] as const) {
        const transaction = await own.begin()
        await own.attempt(transaction, 'a', `${round}`)
        if (end === 'rollback') await transaction.rollback()
        else
          await transaction.commit(own.unit({ marks: end === 'conflict' ? [mark('there')] : [] }))
      }
    }
    assert.deepEqual(await own.read('a'), ['29'])
  },

  async 'several transactions at once are all committed'(probe, own) {
    const keys = Array.from({ length: 12 }, (_, index) => `${index}`)
    await Promise.all(
      keys.map(async (key) => {
        const transaction = await own.begin()
        await own.attempt(transaction, key, key)
        await own.committed(transaction, { marks: [mark(key)] })
      }),
    )
    assert.deepEqual(await own.read(...keys), keys)
    assert.ok((await probe.applied(...keys.map((key) => mark(key)))).every(Boolean))
  },

  async 'of transactions that commit one mark at once one wins'(_probe, own) {
    const keys = Array.from({ length: 6 }, (_, index) => `${index}`)
    const outcomes = await Promise.all(
      keys.map(async (key) => {
        const transaction = await own.begin()
        await own.attempt(transaction, key)
        const { outcome } = await transaction.commit(own.unit({ marks: [mark('contested')] }))
        return outcome
      }),
    )
    assert.equal(outcomes.filter((outcome) => outcome === 'committed').length, 1)
    assert.equal(outcomes.filter((outcome) => outcome === 'conflict').length, keys.length - 1)
    assert.deepEqual(
      (await own.read(...keys)).map((value) => value !== undefined),
      outcomes.map((outcome) => outcome === 'committed'),
    )
  },

  async 'calls of the store that are made while a transaction is open are answered'(probe, own) {
    const { store, service } = probe
    const transaction = await own.begin()
    await own.attempt(transaction, 'a')
    // A store with one session answers once the transaction has ended.
    const calls = Promise.all([
      probe.put('k', 'v', 0),
      probe.applied(mark('m')),
      probe.acquireOne({ topic: 'orders', partition: 0 }),
      store.acknowledge(service, []),
      store.unpublished(service, 0),
      store.forget(service, 0),
    ])
    await own.attempt(transaction, 'b')
    await own.committed(transaction, { marks: [mark('n')] })
    await calls
    assert.deepEqual(await own.read('a', 'b'), ['written', 'written'])
    assert.equal((await probe.loadOne('k')).value?.toString(), 'v')
  },
}
