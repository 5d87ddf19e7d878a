import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { StoreTransaction } from '../../src/ports/store.ts'
import {
  type PostgresOptions,
  type PostgresTransaction,
  postgres,
} from '../../src/postgres/index.ts'
import { eventually } from '../../src/testing/eventually.ts'
import { mark, progress, StoreProbe } from '../../src/testing/store-contract/store-probe.ts'
import { DatabaseProxy } from '../cases/outage/database-proxy.ts'
import { rejection } from '../sql/rejection.ts'
import { address, ask, freshName, newClient } from './server.ts'

const schema = freshName()
const proxy = new DatabaseProxy()
const stores: StoreProbe[] = []
const databases: string[] = []
const roles: string[] = []

before(async () => {
  await proxy.open()
  await postgres({ connectionString: address(), schema }).migrate()
})

after(async () => {
  await proxy.turn('pass')
  await Promise.all(stores.map(({ store }) => store.close()))
  proxy.close()
  await ask(`drop schema ${schema} cascade`)
  for (const database of databases) await ask(`drop database ${database} with (force)`)
  for (const role of roles) await ask(`drop role ${role}`)
})

async function open(options: PostgresOptions): Promise<StoreProbe> {
  const probe = new StoreProbe(postgres({ schema, ...options }))
  stores.push(probe)
  await probe.store.open()
  return probe
}

/** A store behind the proxy, which gives an answer up soon. */
function openBehindProxy(options: PostgresOptions = {}): Promise<StoreProbe> {
  return open({
    connectionString: address({ host: '127.0.0.1', port: proxy.port }),
    statementTimeout: '1s',
    lockTimeout: '500ms',
    connectTimeout: '1s',
    ...options,
  })
}

async function begin({ store }: StoreProbe): Promise<StoreTransaction> {
  const transaction = await store.transactions?.begin()
  assert.ok(transaction)
  return transaction
}

/** Waits until the store answers again. */
function answers(probe: StoreProbe): Promise<unknown> {
  return eventually('an answer', () => probe.load('k').catch(() => undefined))
}

function query(capability: unknown, text: string): Promise<readonly unknown[]> {
  return (capability as PostgresTransaction).query(text)
}

describe('a PostgreSQL store whose connections', () => {
  for (const weather of ['refuse', 'reset', 'stall', 'deaf'] as const) {
    it(`come to '${weather}' says so, and goes on afterwards`, async () => {
      const probe = await openBehindProxy()
      const row = await probe.acquireOne({ topic: 'orders', partition: 0 })
      await proxy.turn(weather)
      await rejection(probe.load('k'), 'POLLUX_STORE_UNREACHABLE')
      const unit = { marks: [mark(weather)], ledger: [progress(row, 1)] }
      const error = await rejection(probe.commit(unit), 'POLLUX_STORE_UNREACHABLE')
      assert.match(error.message, /postgres 127\.0\.0\.1:\d+\/\w+ cannot be reached/)
      await rejection(probe.acquireOne(row), 'POLLUX_STORE_UNREACHABLE')
      await proxy.turn('pass')
      await answers(probe)
      // Whether it was done, the ledger tells.
      const { outcome } = await probe.commit(unit)
      assert.ok(outcome === 'committed' || outcome === 'fenced')
      assert.deepEqual(await probe.applied(mark(weather)), [true])
    })

    it(`come to '${weather}' in a transaction breaks it at once, and nothing of it stays`, async () => {
      const probe = await openBehindProxy()
      const transaction = await begin(probe)
      await transaction.attempt((db) => query(db, 'select 1'))
      await proxy.turn(weather)
      await rejection(
        transaction.attempt((db) => query(db, 'select 2')),
        'POLLUX_STORE_UNREACHABLE',
      )
      assert.ok(transaction.broken)
      const unit = probe.unit({ marks: [mark('late')] })
      await rejection(transaction.commit(unit), 'POLLUX_STORE_UNREACHABLE')
      await transaction.rollback()
      await proxy.turn('pass')
      await answers(probe)
      assert.deepEqual(await probe.applied(mark('late')), [false])
    })
  }

  it('lose the answer of a commit gives `fenced` when it is repeated', async () => {
    const probe = await openBehindProxy()
    const row = await probe.acquireOne({ topic: 'orders', partition: 0 })
    const unit = { marks: [mark('lost')], ledger: [progress(row, 1)] }
    proxy.loseCommits(1)
    await rejection(probe.commit(unit), 'POLLUX_STORE_UNREACHABLE')
    assert.deepEqual(await probe.commit(unit), { outcome: 'fenced' })
    assert.deepEqual(await probe.applied(mark('lost')), [true])
  })

  it('are refused when it is opened can be opened later', async () => {
    await proxy.turn('refuse')
    const probe = new StoreProbe(
      postgres({ connectionString: address({ host: '127.0.0.1', port: proxy.port }), schema }),
    )
    stores.push(probe)
    await rejection(probe.store.open(), 'POLLUX_STORE_UNREACHABLE')
    await proxy.turn('pass')
    await probe.store.open()
    await probe.load('k')
  })
})

describe('a PostgreSQL store whose server', () => {
  it('ends a session in the middle of a statement says that it cannot be reached', async () => {
    const name = freshName()
    const probe = await open({ connectionString: `${address()}?application_name=${name}` })
    const transaction = await begin(probe)
    const failed = assert.rejects(transaction.attempt((db) => query(db, 'select pg_sleep(60)')))
    await eventually('the end of a session', async () => {
      const ended = await ask(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = $1 and query like '%pg_sleep%'`,
        [name],
      )
      return ended.length > 0
    })
    await failed
    await rejection(Promise.reject(transaction.broken), 'POLLUX_STORE_UNREACHABLE')
    await transaction.rollback()
    await probe.load('k')
  })

  it('ends a transaction that stands idle breaks it', async () => {
    const name = freshName()
    const probe = await open({
      connectionString: `${address()}?application_name=${name}`,
      statementTimeout: '1s',
      lockTimeout: '500ms',
    })
    const transaction = await begin(probe)
    await transaction.attempt((db) => query(db, 'select 1'))
    await eventually('the end of the session', async () => {
      const text = `select from pg_stat_activity where application_name = $1 and state like 'idle in%'`
      return (await ask(text, [name])).length === 0
    })
    await rejection(
      transaction.attempt((db) => query(db, 'select 1')),
      'POLLUX_STORE_UNREACHABLE',
    )
    await rejection(transaction.commit(probe.unit({})), 'POLLUX_STORE_UNREACHABLE')
    await probe.load('k')
  })

  it('ends a statement that takes too long goes on', async () => {
    const probe = await open({
      connectionString: address(),
      statementTimeout: '1s',
      lockTimeout: '500ms',
    })
    const row = await probe.acquireOne({ topic: 'orders', partition: 0 })
    const holder = await newClient()
    await holder.query('begin')
    await holder.query(`select from ${schema}.pollux_ledger where service = $1 for update`, [
      probe.service,
    ])
    const unit = { ledger: [progress(row, 1)] }
    const error = await rejection(probe.commit(unit), 'POLLUX_STORE_UNREACHABLE')
    assert.match(error.message, /SQLSTATE 57014/)
    // Somebody else's session is not ended, as an owner's would be.
    const late = await rejection(probe.acquireOne(row), 'POLLUX_STORE_UNREACHABLE')
    assert.match(late.message, /SQLSTATE 55P03/)
    await holder.query('rollback')
    await holder.end()
    await probe.committed(unit)
  })

  it('has no more connections waits for one', async () => {
    const role = freshName()
    roles.push(role)
    await ask(`create role ${role} login superuser connection limit 1`)
    // Limits do not hold for superusers, so it is one no more once the tables can be used.
    await ask(`alter role ${role} nosuperuser`)
    await ask(`grant usage on schema ${schema} to ${role}`)
    await ask(`grant all on all tables in schema ${schema} to ${role}`)
    await ask(`grant all on all sequences in schema ${schema} to ${role}`)
    const probe = await open({ connectionString: address({ user: role }) })
    const transaction = await begin(probe)
    const error = await rejection(probe.load('k'), 'POLLUX_STORE_UNREACHABLE')
    assert.match(error.message, /too many connections .*SQLSTATE 53300/)
    await transaction.rollback()
    await probe.load('k')
    await probe.store.close()
    await ask(`drop owned by ${role}`)
  })

  it('only reads, as the old one does after a fail-over, gets a new connection each time', async () => {
    const database = freshName()
    databases.push(database)
    await ask(`create database ${database}`)
    const connectionString = address({ host: '127.0.0.1', port: proxy.port, database })
    const probe = await open({ connectionString, schema: 'pollux' })
    const row = await probe.acquireOne({ topic: 'orders', partition: 0 })
    await ask(`alter database ${database} set default_transaction_read_only = on`)
    proxy.cut()
    await eventually('a session that only reads', async () => {
      const error: unknown = await probe.commit({ ledger: [progress(row, 1)] }).catch((e) => e)
      return error instanceof Error && /SQLSTATE 25006/.test(error.message)
    })
    const asked = proxy.asked
    await rejection(probe.commit({ ledger: [progress(row, 1)] }), 'POLLUX_STORE_UNREACHABLE')
    await rejection(probe.acquireOne(row), 'POLLUX_STORE_UNREACHABLE')
    assert.equal(proxy.asked, asked + 2)
    await ask(`alter database ${database} reset default_transaction_read_only`)
    await probe.committed({ ledger: [progress(row, 1)] })
    await probe.store.close()
  })
})
