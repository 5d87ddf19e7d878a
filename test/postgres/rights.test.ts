import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Store } from '../../src/ports/store.ts'
import { type PostgresOptions, postgres } from '../../src/postgres/index.ts'
import { change, mark, StoreProbe, stateRow } from '../../src/testing/store-contract/store-probe.ts'
import { rejection } from '../sql/rejection.ts'
import { address, ask, freshName } from './server.ts'

const role = freshName()
const schemas: string[] = []
const stores: Store[] = []

before(async () => {
  await ask(`create role ${role} login`)
})

after(async () => {
  await Promise.all(stores.map((store) => store.close()))
  for (const schema of schemas) await ask(`drop schema if exists ${schema} cascade`)
  await ask(`drop owned by ${role} cascade`)
  await ask(`drop role ${role}`)
})

function newSchema(): string {
  const schema = freshName()
  schemas.push(schema)
  return schema
}

function storeOf(user: string | undefined, options: PostgresOptions): Store {
  const connectionString = address(user === undefined ? {} : { user })
  const store = postgres({ connectionString, ...options })
  stores.push(store)
  return store
}

/** Makes the tables as their owner. */
async function migrated(schema: string): Promise<void> {
  await storeOf(undefined, { schema }).open()
}

async function grantAll(schema: string): Promise<void> {
  await ask(`grant usage on schema ${schema} to ${role}`)
  await ask(`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`)
  await ask(`grant usage on all sequences in schema ${schema} to ${role}`)
}

async function works(store: Store): Promise<void> {
  const probe = await StoreProbe.open(store)
  await probe.acquireOne({ topic: 'orders', partition: 0 })
  const [version] = await probe.committed({ marks: [mark('m')], states: [change('k', 'v', 0)] })
  assert.deepEqual(await probe.loadOne('k'), stateRow('v', version))
}

it('a role that may not create anything works with tables that are up to date', async () => {
  const schema = newSchema()
  await migrated(schema)
  await grantAll(schema)
  await works(storeOf(role, { schema }))
  await works(storeOf(role, { schema, migrate: false }))
})

it('a role that may not make the schema is told the command, and which right it lacks', async () => {
  const schema = newSchema()
  const error = await rejection(storeOf(role, { schema }).open(), 'POLLUX_MIGRATION_NEEDED')
  assert.match(error.message, new RegExp(`schema "${schema}" of postgres `))
  assert.match(error.message, /permission denied for database .*`pollux migrate`/)
})

it('a role that may not make tables in the schema is told the command, and which right it lacks', async () => {
  const schema = newSchema()
  await ask(`create schema ${schema}`)
  await ask(`grant usage on schema ${schema} to ${role}`)
  const error = await rejection(storeOf(role, { schema }).open(), 'POLLUX_MIGRATION_NEEDED')
  assert.match(error.message, /permission denied for schema .*`pollux migrate`/)
  await ask(`grant create on schema ${schema} to ${role}`)
  await works(storeOf(role, { schema }))
})

it('each right that is missing for reading and writing is named, all at once', async () => {
  const schema = newSchema()
  await migrated(schema)
  const first = await rejection(storeOf(role, { schema }).open(), 'POLLUX_STORE_FAILED')
  assert.match(first.message, /no right to use the schema, .*select pollux_ledger/)
  await grantAll(schema)
  await ask(`revoke delete on ${schema}.pollux_outbox from ${role}`)
  await ask(`revoke usage on sequence ${schema}.pollux_state_version from ${role}`)
  await ask(`revoke execute on all functions in schema ${schema} from public`)
  const second = await rejection(storeOf(role, { schema }).open(), 'POLLUX_STORE_FAILED')
  assert.match(
    second.message,
    /no right to delete pollux_outbox, use pollux_state_version, execute pollux_\w+,/,
  )
  await grantAll(schema)
  await ask(`grant execute on all functions in schema ${schema} to ${role}`)
  await works(storeOf(role, { schema }))
})

it('with migrate: false nothing is made, even by a role that may', async () => {
  const schema = newSchema()
  const store = storeOf(undefined, { schema, migrate: false })
  const error = await rejection(store.open(), 'POLLUX_MIGRATION_NEEDED')
  assert.match(error.message, /`pollux migrate`/)
  assert.deepEqual(await ask('select from pg_namespace where nspname = $1', [schema]), [])
  await migrated(schema)
  await works(store)
})

it('verifying needs the right to make a schema, and says so', async () => {
  const schema = newSchema()
  await migrated(schema)
  await grantAll(schema)
  const store = postgres({ connectionString: address({ user: role }), schema })
  const error = await rejection(store.verify(), 'POLLUX_STORE_FAILED')
  assert.match(error.message, /permission denied for database/)
})
