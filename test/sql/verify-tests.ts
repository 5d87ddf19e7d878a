import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { migrations } from '../../src/sql/migrations.ts'
import type { TestDatabase } from './test-database.ts'

/** What somebody does to the tables, and what `verify` says of it. */
const changes: Readonly<Record<string, readonly [statement: string, sentence: RegExp]>> = {
  'a table that is missing': [
    'drop table verified.pollux_outbox',
    /^There is no table pollux_outbox\.$/m,
  ],
  'a column that is missing': [
    'alter table verified.pollux_ledger drop column next',
    /^There is no column next of pollux_ledger\.$/,
  ],
  'a column of another type': [
    'alter table verified.pollux_inbox alter column "offset" type int4',
    /^The column offset of pollux_inbox is declared as 'integer not null', expected 'bigint not null'\.$/,
  ],
  'a column that must have a value': [
    'alter table verified.pollux_state alter column value set not null',
    /^The column value of pollux_state is declared as 'bytea not null', expected 'bytea'\.$/,
  ],
  'another collation': [
    'alter table verified.pollux_state alter column service type text collate "POSIX"',
    /^The column service of pollux_state is declared as .*POSIX.*, expected .*C/,
  ],
  'a default that is missing': [
    'alter table verified.pollux_inbox alter column applied_at drop default',
    /^The column applied_at of pollux_inbox is declared as /,
  ],
  'a column that is not ours': [
    'alter table verified.pollux_inbox add column color text',
    /^There is a column color of pollux_inbox that is not ours\.$/,
  ],
  'a key that is missing': [
    'alter table verified.pollux_state drop constraint pollux_state_pkey',
    /^There is no key of pollux_state\.$/,
  ],
  'a key in another order': [
    `alter table verified.pollux_inbox drop constraint pollux_inbox_pkey,
      add primary key (service, topic, id)`,
    /^The key of pollux_inbox is declared as 'PRIMARY KEY \(service, topic, id\)', expected /,
  ],
  'a table that a crash empties': [
    'alter table verified.pollux_inbox set unlogged',
    /^The table pollux_inbox is declared as 'not logged', expected 'logged'\.$/,
  ],
  'a function that is missing': [
    'drop function verified.pollux_load_1',
    /^There is no function pollux_load_1\(/,
  ],
  'a function that was changed': [
    `create or replace function verified.pollux_forget_1(
      in_service text, in_window interval, in_block int8, in_blocks int8
    ) returns int8 language sql as 'select 1::int8'`,
    /^The function pollux_forget_1\(.*\) has been changed\.$/,
  ],
  'a migration that was not taken': [
    'delete from verified.pollux_migrations',
    /^Migration 1 \(.*\) has not been taken\.$/m,
  ],
}

/** What `verify` says. */
export function verifyTests(name: string, newDatabase: () => Promise<TestDatabase>): void {
  describe(`verifying the tables of a store on ${name}`, () => {
    let database: TestDatabase

    before(async () => {
      database = await newDatabase()
    })
    after(() => database.close())

    it('finds nothing to say of what migrate has made, and leaves nothing behind', async () => {
      const before = await database.ask('select nspname from pg_namespace order by 1')
      // A name that is also a word in the functions.
      const store = database.store('outbox')
      await store.migrate()
      assert.deepEqual(await store.verify(), [])
      await Promise.all([store.verify(), store.verify()])
      await database.ask('drop schema outbox cascade')
      assert.deepEqual(await database.ask('select nspname from pg_namespace order by 1'), before)
    })

    it('names the migrations where there is nothing yet', async () => {
      const sentences = await database.store('nothing').verify()
      assert.equal(sentences.length, migrations.length)
    })

    it("leaves others' tables in the same schema alone", async () => {
      const store = database.store('mixed')
      await store.migrate()
      await database.ask('create table mixed.pollux_own (x int primary key)')
      await database.ask('create table mixed.own (x int primary key)')
      await database.ask('create index on mixed.pollux_inbox (applied_at)')
      assert.deepEqual(await store.verify(), [])
    })

    for (const [what, [statement, sentence]] of Object.entries(changes)) {
      it(`tells ${what}`, async () => {
        const store = database.store('verified')
        await store.migrate()
        await database.ask(statement)
        assert.match((await store.verify()).join('\n'), sentence)
        await database.ask('drop schema verified cascade')
      })
    }
  })
}
