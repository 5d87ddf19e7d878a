import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { StoreTransaction } from '../../src/ports/store.ts'
import type { PostgresTransaction } from '../../src/sql/postgres-transaction.ts'
import { mark, StoreProbe } from '../../src/testing/store-contract/store-probe.ts'
import { rejection } from './rejection.ts'
import type { TestDatabase } from './test-database.ts'

/** What handlers may do in a unit's transaction, beyond what the contract says of all stores. */
export function transactionTests(name: string, newDatabase: () => Promise<TestDatabase>): void {
  describe(`handlers' own SQL on ${name}`, () => {
    let database: TestDatabase
    let probe: StoreProbe
    let transaction: StoreTransaction

    before(async () => {
      database = await newDatabase()
      probe = await StoreProbe.open(database.store('pollux'))
      await database.ask(`create table own (
        key text primary key,
        parent text references own deferrable initially deferred
      )`)
      // Fails at the very end of a transaction whose unit has this mark.
      await database.ask(`create function late() returns trigger language plpgsql as $$ begin
        if exists (select from pollux.pollux_inbox where id = 'late') then raise 'late'; end if;
        return null; end $$`)
      await database.ask(`create constraint trigger late after insert on own
        deferrable initially deferred for each row execute function late()`)
    })
    after(() => database.close())

    beforeEach(async () => {
      await database.ask('delete from own')
      transaction = await begin()
    })
    afterEach(() => transaction.rollback())

    function begin(): Promise<StoreTransaction> {
      const { transactions } = probe.store
      assert.equal(transactions?.capability, 'postgresTransaction')
      return transactions.begin()
    }

    function attempt<T>(body: (db: PostgresTransaction) => Promise<T>): Promise<T> {
      return transaction.attempt((capability) => body(capability as PostgresTransaction))
    }

    async function add(db: PostgresTransaction, key: string, parent?: string): Promise<void> {
      await db.query('insert into own (key, parent) values ($1, $2)', [key, parent])
    }

    /** The keys that are there once the transaction is committed. */
    async function committedKeys(): Promise<unknown[]> {
      const { outcome } = await transaction.commit(probe.unit({}))
      assert.equal(outcome, 'committed')
      return (await database.ask('select key from own order by key')).map(({ key }) => key)
    }

    it('gives rows', async () => {
      const rows = await attempt((db) =>
        db.query<{ n: number; t: string }>(
          'select n, $1::text as t from generate_series(1, 2) as n',
          ['x'],
        ),
      )
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [
          { n: 1, t: 'x' },
          { n: 2, t: 'x' },
        ],
      )
      assert.deepEqual(await attempt((db) => db.query('create temp table gone (x int)')), [])
    })

    it('writes and reads values in the same way on PostgreSQL and PGlite', async () => {
      const bytes = Buffer.from([0, 255, 10])
      const [row] = await attempt((db) =>
        db.query(
          `select 9007199254740993::int8 as large, 7::int4 as small, 1.50::numeric as exact, true as yes,
            $1::bytea as bytes, $2::text[] as texts, $3::int8[] as numbers, $4::jsonb as json,
            $5::timestamptz as at, date '2024-02-29' as day, null::text as none, $6::bytea[] as blobs`,
          [bytes, ['a,"', 'b'], [1, 2], { a: [1] }, new Date(1_700_000_000_000), [bytes]],
        ),
      )
      const { bytes: read, blobs, ...others } = row as Record<string, unknown>
      assert.ok(Buffer.isBuffer(read) && read.equals(bytes))
      assert.deepEqual(blobs, [bytes])
      assert.deepEqual(others, {
        large: '9007199254740993',
        small: 7,
        exact: '1.50',
        yes: true,
        texts: ['a,"', 'b'],
        numbers: ['1', '2'],
        json: { a: [1] },
        at: new Date(1_700_000_000_000),
        day: new Date(2024, 1, 29),
        none: null,
      })
    })

    it("passes on the driver's error of a statement, and the attempt leaves nothing", async () => {
      await attempt((db) => add(db, 'a'))
      const failing = attempt(async (db) => {
        await add(db, 'b')
        await add(db, 'a')
      })
      await assert.rejects(failing, { code: '23505', table: 'own' })
      assert.equal(transaction.broken, undefined)
      assert.deepEqual(await committedKeys(), ['a'])
    })

    it('fails an attempt that goes on from the error of a statement', async () => {
      await attempt((db) => add(db, 'a'))
      let second: unknown
      const swallowing = attempt(async (db) => {
        await add(db, 'b')
        await add(db, 'a').catch(() => {})
        second = await add(db, 'c').catch((error: unknown) => error)
      })
      const error = await rejection(swallowing, 'POLLUX_TRANSACTION_MISUSED')
      assert.match(error.message, /A statement of the handler failed/)
      assert.equal((error.cause as { code?: string }).code, '23505')
      assert.equal(second, error, 'later statements are told so')
      assert.deepEqual(await committedKeys(), ['a'])
    })

    it('fails an attempt that ends while a query is under way', async () => {
      const hasty = attempt(async (db) => {
        await add(db, 'a')
        void add(db, 'b')
      })
      const error = await rejection(hasty, 'POLLUX_TRANSACTION_MISUSED')
      assert.match(error.message, /Await every query/)
      await attempt((db) => add(db, 'c'))
      assert.deepEqual(await committedKeys(), ['c'])
    })

    it('lets no query that nobody awaits end the process', async () => {
      let kept: PostgresTransaction | undefined
      const failure = new Error('from the handler')
      const failing = attempt(async (db) => {
        kept = db
        void db.query('select 1/0')
        void db.query('select 1')
        throw failure
      })
      await assert.rejects(failing, failure)
      void kept?.query('select 1')
      await rejection(kept?.query('select 1') ?? Promise.resolve(), 'POLLUX_TRANSACTION_MISUSED')
      assert.deepEqual(await committedKeys(), [])
    })

    it('sends queries that are made at once one after the other', async () => {
      await attempt(async (db) => {
        const keys = Array.from({ length: 20 }, (_, index) => String.fromCharCode(97 + index))
        await Promise.all(keys.map((key) => add(db, key)))
      })
      assert.equal((await committedKeys()).length, 20)
    })

    for (const text of [
      'commit',
      'BEGIN',
      'rollback to savepoint pollux',
      'savepoint mine',
      'release pollux',
      '/* a */ -- b\n end',
      "insert into own (key) values ('x'); abort",
      "prepare transaction 'x'",
      'start transaction',
    ]) {
      it(`refuses '${text.replace('\n', ' ')}' before it is sent`, async () => {
        const refused = attempt(async (db) => {
          await add(db, 'a')
          await rejection(db.query(text), 'POLLUX_TRANSACTION_MISUSED')
          await add(db, 'b')
        })
        await refused
        assert.deepEqual(await committedKeys(), ['a', 'b'])
      })
    }

    it('refuses several statements in one text', async () => {
      const failing = attempt((db) =>
        db.query(`insert into own (key) values ('a'); insert into own (key) values ('b')`),
      )
      await assert.rejects(failing, { code: '42601' })
      assert.deepEqual(await committedKeys(), [])
    })

    it('checks deferred constraints at the end of an attempt, and leaves them deferred for the next', async () => {
      for (const key of ['a', 'b']) {
        await attempt(async (db) => {
          await add(db, `${key} child`, key)
          await add(db, key)
        })
      }
      const orphan = attempt((db) => add(db, 'orphan', 'nobody'))
      await assert.rejects(orphan, { code: '23503' })
      await attempt(async (db) => {
        await add(db, 'c child', 'c')
        await add(db, 'c')
      })
      assert.deepEqual(await committedKeys(), ['a', 'a child', 'b', 'b child', 'c', 'c child'])
    })

    it('answers reads of the store while it goes on, also after a statement has failed', async () => {
      await transaction.rollback()
      const version = await probe.put('k', 'v', 0)
      transaction = await begin()
      await attempt(async (db) => {
        await add(db, 'a')
        assert.equal((await probe.loadOne('k')).version, version)
        assert.deepEqual(await probe.applied(mark('m')), [false])
      })
      const failing = attempt(async (db) => {
        const failed = add(db, 'a')
        const loaded = probe.loadOne('k')
        await assert.rejects(failed, { code: '23505' })
        assert.equal((await loaded).version, version)
        assert.equal((await probe.loadOne('k')).version, version)
      })
      await rejection(failing, 'POLLUX_TRANSACTION_MISUSED')
      const keys = committedKeys()
      assert.equal((await probe.loadOne('k')).version, version)
      assert.deepEqual(await keys, ['a'])
    })

    it('shows no read a unit whose transaction fails at its very end, which is to be repeated', async () => {
      await attempt((db) => add(db, 'a'))
      const committing = transaction.commit(probe.unit({ marks: [mark('late')] }))
      let hasEnded = false
      const ended = rejection(committing, 'POLLUX_STORE_UNREACHABLE').finally(() => {
        hasEnded = true
      })
      while (!hasEnded) assert.deepEqual(await probe.applied(mark('late')), [false])
      assert.match((await ended).message, /late/)
      assert.deepEqual(await database.ask('select key from own'), [])
    })

    it('takes one attempt at a time', async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const first = attempt(() => promise)
      await assert.rejects(
        attempt(async () => {}),
        /in use by another attempt/,
      )
      await assert.rejects(transaction.commit(probe.unit({})), /in use by another attempt/)
      resolve()
      await first
      assert.deepEqual(await committedKeys(), [])
    })

    for (const state of ['40001', '40P01', '53200', '55P03', '57014']) {
      it(`is broken by SQLSTATE ${state}`, async () => {
        const failing = attempt((db) =>
          db.query(`do $$ begin raise exception 'no' using errcode = '${state}'; end $$`),
        )
        await assert.rejects(failing, { code: state })
        assert.ok(transaction.broken)
        await rejection(Promise.reject(transaction.broken), 'POLLUX_STORE_UNREACHABLE')
        await assert.rejects(
          attempt((db) => add(db, 'a')),
          (error) => error === transaction.broken,
        )
        await rejection(transaction.commit(probe.unit({})), 'POLLUX_STORE_UNREACHABLE')
        transaction = await begin()
        assert.deepEqual(await committedKeys(), [])
      })
    }
  })
}
