import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import {
  type PostgresOptions,
  type PostgresTransaction,
  postgres,
} from '../../src/postgres/index.ts'
import { eventually } from '../../src/testing/eventually.ts'
import { StoreProbe } from '../../src/testing/store-contract/store-probe.ts'
import { address, ask, freshName } from './server.ts'

const schema = freshName()
/** Also the name of the sessions. */
const own = freshName()

before(async () => {
  await postgres({ connectionString: address(), schema }).migrate()
})
after(() => ask(`drop schema ${schema} cascade`))

/** What sessions of the store are set to. */
async function settings(options: PostgresOptions): Promise<Record<string, unknown>> {
  const { store } = await StoreProbe.open(postgres({ schema, ...options }))
  const transaction = await store.transactions?.begin()
  const rows = await transaction?.attempt((capability) =>
    (capability as PostgresTransaction).query(`select
      current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle,
      current_setting('application_name') as name,
      current_setting('transaction_isolation') as isolation`),
  )
  await transaction?.rollback()
  await store.close()
  return { ...rows?.[0] }
}

function sessions(name: string): Promise<readonly Record<string, unknown>[]> {
  return ask('select pid from pg_stat_activity where application_name = $1', [name])
}

describe('the sessions of a PostgreSQL store', () => {
  it('have limits and a name', async () => {
    assert.deepEqual(await settings({ connectionString: address() }), {
      statement: '15s',
      idle: '15s',
      name: 'pollux',
      isolation: 'read committed',
    })
    const given = await settings({ connectionString: address(), statementTimeout: '7s' })
    assert.equal(given['statement'], '7s')
  })

  it('are read committed whatever the role is set to', async () => {
    const role = freshName()
    await ask(`create role ${role} login superuser`)
    await ask(`alter role ${role} set default_transaction_isolation = 'serializable'`)
    const { isolation } = await settings({ connectionString: address({ user: role }) })
    await ask(`drop role ${role}`)
    assert.equal(isolation, 'read committed')
  })

  it('are as many as poolSize at most, and all closed with the store', async () => {
    const connectionString = `${address()}?application_name=${own}`
    const probe = await StoreProbe.open(postgres({ connectionString, schema, poolSize: 3 }))
    await Promise.all(Array.from({ length: 20 }, (_, index) => probe.load(`${index}`)))
    assert.equal((await sessions(own)).length, 3)
    await probe.store.close()
    await eventually('no session', async () => (await sessions(own)).length === 0)
  })

  it('may be ended while nobody uses them, and new ones take their place', async () => {
    const connectionString = `${address()}?application_name=${own}`
    const probe = await StoreProbe.open(postgres({ connectionString, schema }))
    await Promise.all([probe.load('a'), probe.load('b')])
    await ask(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
      [own],
    )
    await eventually('an answer', () => probe.load('a').catch(() => undefined))
    await probe.store.close()
  })
})

describe('a pool of the user', () => {
  it('is used as it is, shared, and never ended', async () => {
    const pool = new pg.Pool({ connectionString: address(), max: 2, application_name: own })
    const given = await settings({ pool })
    assert.equal(given['statement'], '0')
    assert.equal(given['name'], own)
    // Two stores, and the user beside them.
    const [one, two] = await Promise.all([
      StoreProbe.open(postgres({ pool, schema })),
      StoreProbe.open(postgres({ pool, schema })),
    ])
    await one.put('k', 'v', 0)
    await one.store.close()
    await two.put('k', 'v', 0)
    await two.store.close()
    assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }])
    assert.equal(pool.listenerCount('error'), 0, 'nothing of the stores is left')
    await pool.end()
  })

  it('that reads numbers in its own way changes nothing for the store', async () => {
    const types = {
      getTypeParser: ((type: number, format: 'text') =>
        type === 20
          ? BigInt
          : pg.types.getTypeParser(type, format)) as typeof pg.types.getTypeParser,
    }
    const pool = new pg.Pool({ connectionString: address(), types })
    const probe = await StoreProbe.open(postgres({ pool, schema }))
    const row = await probe.acquireOne({ topic: 'orders', partition: 0 })
    assert.ok(Number.isSafeInteger(row.epoch))
    assert.ok((await probe.put('k', 'v', 0)) > 0)
    await probe.store.close()
    await pool.end()
  })

  it('may lose a session that nobody uses without an end of the process', async () => {
    const pool = new pg.Pool({ connectionString: address(), application_name: own })
    const probe = await StoreProbe.open(postgres({ pool, schema }))
    await probe.load('k')
    await ask(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
      [own],
    )
    await eventually('no session', () => pool.totalCount === 0)
    await probe.load('k')
    await probe.store.close()
    await pool.end()
  })
})
