import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { root } from '../../scripts/command.ts'
import { PolluxError } from '../../src/errors.ts'
import type { MigratableStore } from '../../src/ports/store.ts'
import { postgres } from '../../src/postgres/index.ts'
import type { Service } from '../../src/service.ts'
import { type TestRuntime, testRuntime } from '../../src/testing/test-runtime.ts'
import type { Topic } from '../../src/topic.ts'
import { fencesOf, readPages, withSources } from '../docs/markdown.ts'
import { address, ask, freshName, server } from './server.ts'

const page = (await readPages()).find(({ path }) => path === 'docs/postgres.md')
assert.ok(page !== undefined)
const fences = fencesOf(page)
const name = freshName()

/** The page's SQL of that name, with roles and database that belong to this test alone. */
function sql(word: string): string[] {
  const found = fences.filter(({ language, words }) => language === 'sql' && words[0] === word)
  assert.ok(found.length > 0, `no SQL named ${word}`)
  return found.map(({ code }) => code.replaceAll(/\bshop(?=_|\b)/g, name))
}

const owner = `${name}_owner`
const service = `${name}_service`
const clients: pg.Client[] = []

async function clientOf(user: string): Promise<pg.Client> {
  const client = new pg.Client({ ...server, user, database: name })
  await client.connect()
  clients.push(client)
  return client
}

function storeOf(user: string, migrate: boolean): MigratableStore {
  return postgres({ connectionString: address({ user, database: name }), migrate })
}

interface Stock {
  readonly orders: Topic<'orders', string, { item: string; pieces: number }>
  readonly reservations: Topic<'reservations', string, { left: number | null }>
  readonly reserve: Service
}

describe('docs/postgres.md on a database', () => {
  let folder: string
  let asOwner: pg.Client

  before(async () => {
    // One at a time: a database is not made inside a transaction.
    for (const statement of sql('administrator').join('').split(';\n'))
      if (statement.trim() !== '') await ask(statement)
    const store = storeOf(owner, true)
    await store.migrate()
    await store.close()
    asOwner = await clientOf(owner)
    await asOwner.query(sql('owner').join(''))
    await asOwner.query(sql('stock').join(''))
    await mkdir(join(root, '.pollux'), { recursive: true })
    folder = await mkdtemp(join(root, '.pollux/docs-'))
  })

  after(async () => {
    for (const client of clients) await client.end()
    await ask(`drop database if exists ${name} with (force)`)
    await ask(`drop role if exists ${owner}, ${service}`)
    await rm(folder, { recursive: true, force: true })
  })

  async function stock(): Promise<Stock> {
    const path = 'docs/postgres/stock.ts'
    const fence = fences.find(({ words }) => words.includes('stock.ts'))
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, withSources(fence?.code ?? '', path))
    return (await import(file)) as Stock
  }

  test('The service of the example reserves once for each order, as the role of services', async () => {
    const { orders, reservations, reserve } = await stock()
    const store = storeOf(service, false)
    await using runtime: TestRuntime = await testRuntime(reserve, { store })
    const order = (id: string, pieces: number) =>
      orders.message({ key: 'lamp', value: { item: 'lamp', pieces }, headers: { id } })
    await runtime.send(order('o1', 2), order('o1', 2), order('o2', 4), order('o3', 3))
    await runtime.settled()
    const left = (await runtime.messages(reservations)).map(({ value }) => value.left)
    // o2 wants more than the three that are left.
    assert.deepEqual(left, [3, null, 0])
    const { rows } = await asOwner.query('select pieces from stock')
    assert.deepEqual(rows, [{ pieces: 0 }])
  })

  test('The role of services can do all that a store does, and no more', async () => {
    const store = storeOf(service, false)
    await store.open()
    const at = { topic: 'orders', partition: 0 }
    const [row] = await store.acquire('invoicing', [{ ...at, topicId: 'a' }])
    const records = [
      {
        topic: 'out',
        partition: undefined,
        key: null,
        value: Buffer.from('x'),
        headers: [],
        timestamp: undefined,
      },
    ]
    const result = await store.commit({
      service: 'invoicing',
      marks: [{ ...at, id: Buffer.from('o1'), offset: 0 }],
      states: [
        {
          key: Buffer.from('ann'),
          value: Buffer.from('{"due":7}'),
          version: 0,
          guard: '1@orders/0/0',
        },
      ],
      ledger: [
        {
          ...at,
          epoch: row?.epoch ?? 0,
          unit: 0,
          next: 1,
          settled: [{ from: 3, to: 5 }],
          outputs: records,
          acknowledged: undefined,
        },
      ],
    })
    assert.equal(result.outcome, 'committed')
    const loaded = await store.load(
      'invoicing',
      [Buffer.from('ann')],
      [{ topic: 'orders', id: Buffer.from('o1') }],
    )
    assert.deepEqual(loaded.applied, [true])
    assert.equal((await store.unpublished('invoicing', 0)).length, 1)
    assert.equal(await store.forget('invoicing', 1_000), false)
    await store.close()

    const asService = await clientOf(service)
    for (const forbidden of [
      'create table pollux.mine (n int)',
      'create table public.mine (n int)',
      'create schema mine',
      'drop table pollux.pollux_inbox',
      'truncate pollux.pollux_outbox',
      'alter table pollux.pollux_state add column mine int',
      'create or replace function pollux.pollux_mine() returns int language sql as $$select 1$$',
      "insert into pollux.pollux_migrations (number, name, needed) values (9, 'x', 9)",
      'delete from stock',
    ])
      await assert.rejects(asService.query(forbidden), { code: '42501' }, forbidden)
  })

  test('The queries of the page show positions, state, events, outputs and sizes', async () => {
    const [positions, state, events, outputs, sizes, ...others] = sql('look')
    assert.deepEqual(others, [])
    const rows = async (text: string | undefined): Promise<Record<string, unknown>[]> =>
      (await asOwner.query<Record<string, unknown>>(text ?? '')).rows
    const [position] = (await rows(positions)).filter(({ service: of }) => of === 'invoicing')
    assert.deepEqual(
      [position?.['next'], position?.['settled'], position?.['unit']],
      ['1', '{[3,5)}', '1'],
    )
    const [ann] = await rows(state)
    assert.deepEqual(
      [ann?.['key'], ann?.['value'], ann?.['guard']],
      ['ann', { due: 7 }, '1@orders/0/0'],
    )
    assert.equal((await rows(events))[0]?.['offset'], '0')
    assert.equal((await rows(outputs))[0]?.['outputs'], '1')
    const named = (await rows(sizes)).map(({ relname }) => String(relname)).toSorted()
    const tables = [...page.text.matchAll(/^\| `(pollux_\w+)` \|/gm)].map(([, table = '']) => table)
    assert.deepEqual(named, tables.toSorted())
  })

  test('Each right that the page grants is needed: without it the store does not open', async () => {
    const { rows } = await asOwner.query<{ right: string }>(
      `select privilege_type || ' on pollux.' || table_name as right
      from information_schema.table_privileges where grantee = $1 and table_schema = 'pollux'
      union all
      select 'usage on pollux.' || object_name
      from information_schema.usage_privileges where grantee = $1 and object_schema = 'pollux'
      union all select 'usage on schema pollux'`,
      [service],
    )
    assert.equal(rows.length, 4 * 4 + 1 + 1 + 1)
    for (const { right } of rows) {
      await asOwner.query(`revoke ${right} from ${service}`)
      const store = storeOf(service, false)
      await assert.rejects(store.open(), (error) => PolluxError.is(error), right)
      await store.close()
      await asOwner.query(`grant ${right} to ${service}`)
    }
    const store = storeOf(service, false)
    await store.open()
    await store.close()
  })

  test('Tables of later migrations can be used without another grant', async () => {
    await asOwner.query(
      'create table pollux.pollux_later (n int); create sequence pollux.pollux_next',
    )
    const asService = await clientOf(service)
    await asService.query("insert into pollux.pollux_later values (nextval('pollux.pollux_next'))")
    await asOwner.query('drop table pollux.pollux_later; drop sequence pollux.pollux_next')
  })
})

test('docs/postgres.md gives the defaults that the options have', async () => {
  const { postgresOptions } = await import('../../src/postgres/index.ts')
  const rows = [...page.text.matchAll(/^\| `(\w+)` \| `?([^`|]+?)`? \|/gm)]
    .filter(([, option = '']) => option in postgresOptions)
    .map(([, option = '', value = '']) => [option, value])
  const expected = Object.entries(postgresOptions).map(([option, { shownDefault }]) => [
    option,
    shownDefault,
  ])
  assert.deepEqual(rows, expected)
})
