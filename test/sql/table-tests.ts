import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { migrate } from '../../src/sql/migrate.ts'
import { type Migration, migrations } from '../../src/sql/migrations.ts'
import {
  change,
  noState,
  progress,
  record,
  StoreProbe,
} from '../../src/testing/store-contract/store-probe.ts'
import { rejection } from './rejection.ts'
import type { TestDatabase } from './test-database.ts'

/** How the tables come to be, and what they do when they are not as they should be. */
export function tableTests(name: string, newDatabase: () => Promise<TestDatabase>): void {
  describe(`the tables of a store on ${name}`, () => {
    let database: TestDatabase

    before(async () => {
      database = await newDatabase()
    })
    after(() => database.close())

    async function numbers(schema: string): Promise<unknown[]> {
      const rows = await database.ask(
        `select number from ${schema}.pollux_migrations order by number`,
      )
      return rows.map(({ number }) => number)
    }

    it('live in the schema of choice, beside those of another one', async () => {
      const one = await StoreProbe.open(database.store('one'))
      const two = await StoreProbe.open(database.store('two'), one.service)
      await one.put('k', 'v', 0)
      assert.deepEqual(await two.loadOne('k'), noState)
      assert.deepEqual(
        await numbers('one'),
        migrations.map(({ number }) => number),
      )
    })

    it('number their migrations upwards without a gap', () => {
      assert.deepEqual(
        migrations.map(({ number }) => number),
        migrations.map((_, index) => index + 1),
      )
      for (const { number, needed, name: title } of migrations) {
        assert.ok(needed >= 1 && needed <= number)
        assert.match(title, /^[\w ,]+$/)
      }
    })

    it('are made by migrate, which tells the steps and takes them once', async () => {
      const store = database.store('migrated')
      const planned = await store.migrate({ dryRun: true })
      assert.deepEqual(
        planned.map(({ number }) => number),
        migrations.map(({ number }) => number),
      )
      const schemas = await database.ask(`select from pg_namespace where nspname = 'migrated'`)
      assert.equal(schemas.length, 0, 'a dry run makes nothing')
      assert.deepEqual(await store.migrate(), planned)
      assert.deepEqual(await store.migrate(), [])
      assert.deepEqual(await store.migrate({ dryRun: true }), [])
      await store.close()
    })

    it('can be made by hand from what a dry run tells', async () => {
      const store = database.store('by_hand')
      const steps = await store.migrate({ dryRun: true })
      for (const statement of steps.flatMap(({ statements }) => statements))
        await database.ask(statement)
      assert.deepEqual(await store.verify(), [])
      const probe = await StoreProbe.open(database.store('by_hand', { migratesAtOpen: false }))
      await probe.put('k', 'v', 0)
    })

    it('are brought up to date step by step; a step that fails leaves no trace, and is done later', async () => {
      const target = {
        schema: '"steps"',
        newerCode: 'POLLUX_STORE_FAILED',
        storeName: 'test',
      } as const
      const step = (number: number, ...statements: string[]): Migration => ({
        number,
        name: 'x',
        needed: 1,
        statements: () => statements,
      })
      const first = step(1, 'create table steps.a (x int)')
      const bad = step(2, 'create table steps.b (x int)', 'select 1/0')
      await assert.rejects(migrate(database.connection, target, [first, bad]), /division by zero/)
      assert.deepEqual(await numbers('steps'), [1])
      const good = step(2, 'create table steps.b (x int)')
      await migrate(database.connection, target, [first, good])
      await migrate(database.connection, target, [first, good])
      assert.deepEqual(await numbers('steps'), [1, 2])
    })

    it('are refused when only a newer version can work with them', async () => {
      await database.store('newer').migrate()
      await database.ask(
        `insert into newer.pollux_migrations (number, name, needed) values (1000, 'x', 999)`,
      )
      const error = await rejection(database.store('newer').open(), 'POLLUX_FOLDER_INVALID')
      assert.match(error.message, /made by a newer version of Pollux.*Found migration 999\./)
    })

    it('of a newer version are used by an older one that still can', async () => {
      await database.store('rolling').migrate()
      await database.ask(
        `insert into rolling.pollux_migrations (number, name, needed) values (1000, 'x', 1)`,
      )
      const probe = await StoreProbe.open(database.store('rolling'))
      await probe.put('k', 'v', 0)
    })

    it('have to be there when opening may not make them', async () => {
      const store = database.store('missing', { migratesAtOpen: false })
      const error = await rejection(store.open(), 'POLLUX_MIGRATION_NEEDED')
      assert.match(error.message, /"missing".*step 1 .*`pollux migrate`/)
      const schemas = await database.ask(`select from pg_namespace where nspname = 'missing'`)
      assert.equal(schemas.length, 0)
      await database.store('missing').migrate()
      await store.open()
    })

    it('give errors that tell the cause but none of the state', async () => {
      const probe = await StoreProbe.open(database.store('broken'))
      await database.ask(
        'alter table broken.pollux_state add constraint short check (length(value) < 3)',
      )
      const secret = 'hunter2'
      const unit = { states: [change(secret, secret, 0)] }
      const error = await rejection(probe.commit(unit), 'POLLUX_STORE_FAILED')
      assert.match(error.message, /SQLSTATE 23514/)
      const everything = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error)
      assert.ok(!everything.includes(secret))
      assert.ok(!everything.includes(Buffer.from(secret).toString('hex')))
    })

    it('say when outputs in them are damaged', async () => {
      const probe = await StoreProbe.open(database.store('damaged'))
      const partition = { topic: 'orders', partition: 0 }
      const row = await probe.acquireOne(partition)
      await probe.committed({ ledger: [progress(row, 1, { outputs: [record('one')] })] })
      await database.ask(
        `update damaged.pollux_outbox set outputs = substring(outputs for length(outputs) - 3)`,
      )
      const error = await rejection(probe.acquireOne(partition), 'POLLUX_STORE_FAILED')
      assert.match(error.message, /outputs .*cannot be read.*pollux_outbox/i)
    })

    for (const state of [
      '40001',
      '40P01',
      '57P01',
      '08006',
      '53300',
      '55P03',
      '57014',
      '25006',
      '25P03',
    ]) {
      it(`take SQLSTATE ${state} for what waiting mends`, async () => {
        const probe = await StoreProbe.open(
          database.store(`waiting_${state.toLowerCase()}`, { lockTimeout: 10 }),
        )
        const schema = `waiting_${state.toLowerCase()}`
        await database.ask(`create function ${schema}.fail() returns trigger language plpgsql
          as $$ begin raise exception 'no' using errcode = '${state}'; end $$`)
        await database.ask(
          `create trigger fail before insert on ${schema}.pollux_ledger execute function ${schema}.fail()`,
        )
        const acquired = probe.acquireOne({ topic: 'orders', partition: 0 })
        await rejection(acquired, 'POLLUX_STORE_UNREACHABLE')
      })
    }
  })
}
