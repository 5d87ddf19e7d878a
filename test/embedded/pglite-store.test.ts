import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { connectPglite } from '../../src/embedded/pglite/pglite-connection.ts'
import { pgliteStore } from '../../src/embedded/pglite-store.ts'
import { type ErrorCode, PolluxError } from '../../src/errors.ts'
import type { Store } from '../../src/ports/store.ts'
import { migrate } from '../../src/sql/migrate.ts'
import { migrations } from '../../src/sql/migrations.ts'
import type { SqlConnection } from '../../src/sql/sql.ts'
import { SqlStore } from '../../src/sql/sql-store.ts'

const root = mkdtempSync(join(tmpdir(), 'pollux-pglite-'))
after(() => rmSync(root, { recursive: true }))

async function rejection(promise: Promise<unknown>, code: ErrorCode): Promise<PolluxError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(PolluxError.is(error), `expected ${code}, found ${inspect(error)}`)
  assert.equal(error.code, code)
  return error
}

describe('pgliteStore', () => {
  it('says all that is wrong with its options', () => {
    const wrong = { folder: '', schema: 'pg_own', color: 'red' }
    assert.throws(
      () => pgliteStore(wrong),
      (error) =>
        PolluxError.is(error, 'POLLUX_OPTION_INVALID') &&
        /folder: .*\n.*schema: .*\n.*color: /.test(error.message),
    )
  })

  for (const schema of ['Pollux', 'a-b', '1a', '', 'x'.repeat(64), 'a"b']) {
    it(`refuses the schema '${schema}'`, () => {
      assert.throws(
        () => pgliteStore({ schema }),
        (error) => PolluxError.is(error, 'POLLUX_OPTION_INVALID'),
      )
    })
  }

  it('names its folder in messages', () => {
    assert.equal(pgliteStore({ folder: '.pollux' }).name, 'PGlite .pollux')
    assert.equal(pgliteStore().name, 'PGlite in memory')
  })

  it('says how to install the driver where it is missing', () => {
    const program = `
      import { registerHooks } from 'node:module'
      registerHooks({ resolve(name, context, next) {
        if (name === '@electric-sql/pglite') throw new Error('Cannot find package')
        return next(name, context)
      } })
      const { pgliteStore } = await import('${new URL('../../src/embedded/pglite-store.ts', import.meta.url)}')
      await pgliteStore({ folder: ${JSON.stringify(join(root, 'driver'))} }).open().catch(({ code, message }) => console.log(code, message))
    `
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    })
    assert.match(stdout, /^POLLUX_DRIVER_MISSING .*npm install @electric-sql\/pglite@0\.5\.14/)
  })
})

describe('the folder of a PGlite store', () => {
  const folder = join(root, 'folder')
  let store: Store

  before(async () => {
    store = pgliteStore({ folder })
    await store.open()
  })
  after(() => store.close())

  it('is refused to a second store, and the first one goes on', async () => {
    const error = await rejection(pgliteStore({ folder }).open(), 'POLLUX_FOLDER_LOCKED')
    assert.ok(error.message.includes(folder))
    const [row] = await store.load('s', [Buffer.from('k')])
    assert.deepEqual(row, { value: null, version: 0 })
  })

  it('is refused when another version of PostgreSQL made it, and is left as it is', async () => {
    const other = join(root, 'other-version')
    const version = join(other, 'pglite', 'PG_VERSION')
    mkdirSync(join(other, 'pglite'), { recursive: true })
    writeFileSync(version, '17\n')
    const error = await rejection(pgliteStore({ folder: other }).open(), 'POLLUX_FOLDER_INVALID')
    assert.match(error.message, /Found PostgreSQL 17\./)
    assert.deepEqual(readdirSync(join(other, 'pglite')), ['PG_VERSION'])
  })

  it('is refused when it holds something else, and is left as it is', async () => {
    const other = join(root, 'something-else')
    mkdirSync(join(other, 'pglite'), { recursive: true })
    writeFileSync(join(other, 'pglite', 'letter.txt'), 'dear')
    await rejection(pgliteStore({ folder: other }).open(), 'POLLUX_FOLDER_INVALID')
    assert.deepEqual(readdirSync(join(other, 'pglite')), ['letter.txt'])
  })

  it('is refused when its files are damaged, and is free for another try', async () => {
    const damaged = join(root, 'damaged')
    const first = pgliteStore({ folder: damaged })
    await first.open()
    await first.close()
    writeFileSync(join(damaged, 'pglite', 'global', 'pg_control'), 'nonsense')
    const second = pgliteStore({ folder: damaged })
    const error = await rejection(second.open(), 'POLLUX_FOLDER_INVALID')
    assert.ok(error.message.includes(damaged))
    await rejection(second.open(), 'POLLUX_FOLDER_INVALID')
    await second.close()
  })

  it('does not grow with what was overwritten and removed', async () => {
    const key = Buffer.from('big')
    let version = 0
    for (let round = 0; round < 80; round += 1) {
      const value = round % 2 === 0 ? randomBytes(4 * 1024 ** 2) : null
      const result = await store.commit({
        service: 'growth',
        states: [{ key, value, version }],
        ledger: [],
      })
      assert.ok(result.outcome === 'committed')
      version = result.versions[0] as number
    }
    // 160 MB were written, and 4 are left.
    const log = sizeOf(join(folder, 'pglite', 'pg_wal'))
    const data = sizeOf(join(folder, 'pglite', 'base'))
    assert.ok(log <= 128, `${log} MB of log`)
    assert.ok(data <= 128, `${data} MB of data`)
  })
})

describe('the tables of a PGlite store', () => {
  let database: SqlConnection

  before(async () => {
    database = await connectPglite(undefined)
  })
  after(() => database.close())

  function storeIn(schema: string): Store {
    return new SqlStore({
      name: 'test',
      schema,
      newerCode: 'POLLUX_FOLDER_INVALID',
      connect: async () => ({
        query: (text, params) => database.query(text, params),
        transaction: (work) => database.transaction(work),
        close: async () => {},
      }),
    })
  }

  async function numbers(schema: string): Promise<unknown[]> {
    const rows = await database.query(
      `select number from ${schema}.pollux_migrations order by number`,
    )
    return rows.map(({ number }) => number)
  }

  it('live in the schema of choice, beside those of another one', async () => {
    const [one, two] = [storeIn('one'), storeIn('two')]
    await one.open()
    await two.open()
    const states = [{ key: Buffer.from('k'), value: Buffer.from('v'), version: 0 }]
    await one.commit({ service: 's', states, ledger: [] })
    assert.deepEqual(await two.load('s', [Buffer.from('k')]), [{ value: null, version: 0 }])
    assert.deepEqual(
      await numbers('one'),
      migrations.map(({ number }) => number),
    )
  })

  it('are refused when a newer version made them', async () => {
    await storeIn('newer').open()
    await database.query(`insert into newer.pollux_migrations (number, name) values (1000, 'x')`)
    const error = await rejection(storeIn('newer').open(), 'POLLUX_FOLDER_INVALID')
    assert.match(error.message, /made by a newer version of Pollux.*Found migration 1000\./)
  })

  it('are brought up to date step by step; a step that fails leaves no trace, and is done later', async () => {
    const target = { schema: 'steps', newerCode: 'POLLUX_STORE_FAILED', storeName: 'test' } as const
    const first = { number: 1, name: 'a', statements: () => ['create table steps.a (x int)'] }
    const bad = {
      number: 2,
      name: 'b',
      statements: () => ['create table steps.b (x int)', 'select 1/0'],
    }
    await assert.rejects(migrate(database, target, [first, bad]), /division by zero/)
    assert.deepEqual(await numbers('steps'), [1])
    const good = { ...bad, statements: () => ['create table steps.b (x int)'] }
    await migrate(database, target, [first, good])
    await migrate(database, target, [first, good])
    assert.deepEqual(await numbers('steps'), [1, 2])
  })

  it('numbers its migrations upwards without a gap', () => {
    assert.deepEqual(
      migrations.map(({ number }) => number),
      migrations.map((_, index) => index + 1),
    )
  })

  it('gives errors that tell the cause but none of the state', async () => {
    const store = storeIn('broken')
    await store.open()
    await database.query(
      'alter table broken.pollux_state add constraint short check (length(value) < 3)',
    )
    const secret = 'hunter2'
    const unit = {
      service: 's',
      states: [{ key: Buffer.from(secret), value: Buffer.from(secret), version: 0 }],
      ledger: [],
    }
    const error = await rejection(store.commit(unit), 'POLLUX_STORE_FAILED')
    assert.match(error.message, /SQLSTATE 23514/)
    const everything = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error)
    assert.ok(!everything.includes(secret))
    assert.ok(!everything.includes(Buffer.from(secret).toString('hex')))
  })

  for (const state of ['40001', '40P01', '57P01', '08006', '53300', '55P03', '57014']) {
    it(`takes SQLSTATE ${state} for what waiting mends`, async () => {
      const store = storeIn('waiting')
      await store.open()
      await database.query(`create or replace function waiting.fail() returns trigger language plpgsql
        as $$ begin raise exception 'no' using errcode = '${state}'; end $$`)
      await database.query(
        `create or replace trigger fail before insert on waiting.pollux_ledger execute function waiting.fail()`,
      )
      await rejection(
        store.acquire('s', [{ topic: 't', partition: 0, topicId: 'id' }]),
        'POLLUX_STORE_UNREACHABLE',
      )
    })
  }

  it('are read and written by index, however many rows there are', async () => {
    const store = storeIn('plans')
    await store.open()
    // The session plans while the table is one page, where a scan is cheapest, and must not stay
    // with that plan.
    const commit = (key: string, version: number) =>
      store.commit({
        service: 's',
        states: [{ key: Buffer.from(key), value: Buffer.from('v'), version }],
        ledger: [],
      })
    const versions: number[] = []
    for (let index = 0; index < 10; index += 1) {
      const added = await commit(`k${index}`, 0)
      assert.ok(added.outcome === 'committed')
      versions.push(added.versions[0] as number)
    }
    await database.query('vacuum (analyze) plans.pollux_state')
    for (const [index, version] of versions.entries()) {
      assert.equal((await commit(`k${index}`, version)).outcome, 'committed')
    }
    await database.query(`insert into plans.pollux_state
      select 's', decode(md5(i::text), 'hex'), decode(md5(i::text), 'hex'), nextval('plans.pollux_state_version')
      from generate_series(1, 50000) as i`)
    const before = await blocks()
    const keys = Array.from({ length: 10 }, (_, index) => Buffer.from(`k${index}`))
    const rows = await store.load('s', keys)
    await store.commit({
      service: 's',
      states: keys.map((key, index) => ({
        key,
        value: index % 2 === 0 ? null : key,
        version: rows[index]?.version as number,
      })),
      ledger: [],
    })
    const touched = (await blocks()) - before
    const [size] = await database.query(`select pg_relation_size('plans.pollux_state') / 8192 as n`)
    assert.ok(touched < Number(size?.n), `${touched} blocks touched, the table has ${size?.n}`)
  })

  /** Blocks of the table that were read since the database began. */
  async function blocks(): Promise<number> {
    await database.query('select pg_stat_force_next_flush()')
    const [row] = await database.query(
      `select heap_blks_hit + heap_blks_read as n from pg_statio_user_tables
      where schemaname = 'plans' and relname = 'pollux_state'`,
    )
    return Number(row?.n)
  }
})

/** Megabytes of a folder. */
function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  return Math.round(bytes / 1024 ** 2)
}
