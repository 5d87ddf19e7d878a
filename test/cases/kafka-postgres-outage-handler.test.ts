import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineService, type Service, text, topic } from '../../src/index.ts'
import { type PostgresTransaction, postgresTransaction } from '../../src/postgres/index.ts'
import type { ServiceNames } from '../guarantees/services.ts'
import { ask, newClient } from '../postgres/server.ts'
import { OutageScene } from './outage/outage-scene.ts'

/** Writes down what it was given, with something in between. */
function writing(
  names: ServiceNames,
  between: (db: PostgresTransaction, value: string) => Promise<unknown>,
): Service {
  const input = topic(names.input, { key: text, value: text })
  const output = topic(names.output, { key: text, value: text })
  return defineService(names.group, {
    inputs: [input],
    outputs: [output],
    uses: { db: postgresTransaction },
    async handle({ key, value }, { db }) {
      await db.query(
        `insert into "${names.group}".effects (key, value, owner, started) values ($1, $2, 'one', 0)`,
        [key, value],
      )
      await between(db, value)
      return output.message({ key, value })
    },
  })
}

const takenBack = /a transaction was taken back/

// They wait most of the time.
describe("trouble in the middle of a handler's own SQL", { concurrency: 3 }, () => {
  test('a deadlock with somebody else in the middle of a handler is no failure: the messages are handled again', async (t) => {
    const reached = Promise.withResolvers<void>()
    const going = Promise.withResolvers<void>()
    let calls = 0
    const scene = await OutageScene.open({
      effects: 'table',
      // The server looks for deadlocks after a second.
      store: { statementTimeout: '10s' },
      service: (names) =>
        writing(names, async (db, value) => {
          if (value !== '100') return
          calls += 1
          const lock = (key: string) =>
            db.query(`update "${names.group}".counts set number = number + 1 where key = $1`, [key])
          await lock('ours')
          reached.resolve()
          await going.promise
          await lock('theirs')
        }),
    })
    t.after(() => scene.close())
    await ask(`insert into ${scene.name}.counts values ('ours', 0), ('theirs', 0)`)
    const other = await newClient()
    scene.atEnd(() => other.end())
    // So that it is not the one that is ended.
    await other.query(`set deadlock_timeout = '1h'`)
    await other.query('begin')
    const lock = (key: string) =>
      other.query(`update ${scene.name}.counts set number = number + 100 where key = $1`, [key])
    await lock('theirs')
    await scene.start()
    await reached.promise
    const locked = lock('ours')
    await scene.until('the other one waits', async () => {
      const [row] = await ask(
        `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like $1`,
        [`update ${scene.name}.counts%`],
      )
      return row?.['count'] === '1'
    })
    going.resolve()
    await locked
    await other.query('commit')
    await scene.finish()
    assert.ok(calls >= 2, 'it was handled again')
    assert.ok(scene.lines.some((line) => takenBack.test(line) && line.includes('40P01')))
    assert.deepEqual(Object.fromEntries(await scene.database.counts()), { ours: 101, theirs: 101 })
  })

  test('a serialization failure in the middle of a handler is no failure, however often it comes', async (t) => {
    const scene = await OutageScene.open({
      effects: 'table',
      service: (names) =>
        writing(names, async (db, value) => {
          if (value === '100') await db.query(`select "${names.group}".meet()`)
        }),
    })
    t.after(() => scene.close())
    // At READ COMMITTED the server itself has no reason to; foreign tables and triggers have. What a sequence gives stays given.
    await ask(`create sequence ${scene.name}.meetings`)
    await ask(`create function ${scene.name}.meet() returns void language plpgsql security definer as $$
    begin
      if nextval('${scene.name}.meetings') <= 4 then
        raise exception 'could not serialize access' using errcode = '40001';
      end if;
    end $$`)
    await scene.start()
    await scene.until('it was met five times', async () => {
      const [row] = await ask(`select last_value from ${scene.name}.meetings`)
      return Number(row?.['last_value']) >= 5
    })
    await scene.finish()
    // What others wrote is committed in between, so there may be several.
    assert.ok('a transaction was taken back' in scene.troubles())
  })

  test('a lock that a handler does not wait for, held by somebody else, is waited for', async (t) => {
    const scene = await OutageScene.open({
      effects: 'table',
      service: (names) =>
        writing(names, (db) =>
          db.query(`select from "${names.group}".counts where key = 'held' for share nowait`),
        ),
    })
    t.after(() => scene.close())
    await ask(`insert into ${scene.name}.counts values ('held', 0)`)
    await scene.start()
    const holder = await newClient()
    scene.atEnd(() => holder.end())
    await holder.query(`begin; select from ${scene.name}.counts for update`)
    await scene.until('it is not ready', () =>
      scene.runtime.readiness.waitingFor.includes('repeating a transaction'),
    )
    const { restarts = 0 } = scene.runtime.counts[0] ?? {}
    await scene.until(
      'several tries',
      () => (scene.runtime.counts[0]?.restarts ?? 0) >= restarts + 3,
    )
    await holder.query('rollback')
    await scene.flows()
    await scene.finish()
    assert.deepEqual(scene.troubles(), { 'a transaction was taken back': 1 })
  })

  test('a session that is ended in the middle of a handler is no failure: what it wrote is written once', async (t) => {
    const reached = Promise.withResolvers<void>()
    const going = Promise.withResolvers<void>()
    let calls = 0
    const scene = await OutageScene.open({
      effects: 'table',
      store: { statementTimeout: '10s' },
      service: (names) =>
        writing(names, async (db, value) => {
          if (value !== '100') return
          calls += 1
          reached.resolve()
          await going.promise
          await db.query('select 1')
        }),
    })
    t.after(() => scene.close())
    await scene.start()
    await reached.promise
    assert.equal(await scene.endSessions(`state = 'idle in transaction'`), 1)
    going.resolve()
    await scene.flows()
    await scene.finish()
    assert.equal(calls, 2)
  })
})
