import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { z } from 'zod'
import { json, sidecar, text, topic } from '../../src/index.ts'
import { postgresTable } from '../../src/postgres/index.ts'
import { testRuntime } from '../../src/testing/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { sidecarCases } from './sidecar/cases.ts'

const schema = freshName()
let tables = 0

before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema ${schema} cascade`))

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

function textOf(name: string): string {
  if (name === 'bytes') return `encode(bytes, 'hex')`
  return name === 'at' ? `(at at time zone 'UTC')::text` : `${quote(name)}::text`
}

sidecarCases({
  name: 'PostgreSQL',
  types: {
    text: 'text',
    shortText: 'varchar(40)',
    numeric: 'numeric(30, 19)',
    whole: 'bigint',
    bytes: 'bytea',
    json: 'json',
    time: 'timestamptz',
  },
  notes: true,
  check: 'check (n >= 0)',
  quote,
  async create(definition) {
    tables += 1
    const table = `${schema}.t${tables}`
    await ask(`create table ${table} (${definition})`)
    return table
  },
  target: (table) =>
    postgresTable({ connectionString: address(), table, versions: `${schema}.versions` }),
  async rows(table, columns) {
    const list = columns.map((name) => `${textOf(name)} as ${quote(name)}`)
    const rows = await ask(`select ${list.join(', ')} from ${table} order by 1`)
    return rows.map((row) => columns.map((name) => row[name] as string | null))
  },
  async run(statement) {
    await ask(statement)
  },
})

test('columns of char(n) and bit(n), the key too, take all of what they are given', async () => {
  const table = `${schema}.old`
  await ask(`create table ${table} (id char(13) primary key, curr char(3), flags bit(4))`)
  const value = json(z.object({ curr: z.string(), flags: z.string() }))
  const items = topic('items', { key: text, value })
  const feed = sidecar('feed', {
    ...stopsAtFailure,
    input: items,
    target: postgresTable({ connectionString: address(), table, versions: `${schema}.versions` }),
    key: { id: ({ key }) => key },
    columns: { curr: 'curr', flags: 'flags' },
  })
  await using runtime = await testRuntime(feed)
  for (const flags of ['0101', '1011'])
    await runtime.send(items.message({ key: '9781000000016', value: { curr: 'EUR', flags } }))
  await runtime.settled()
  assert.deepEqual(await ask(`select id, curr, flags::text from ${table}`), [
    { id: '9781000000016', curr: 'EUR', flags: '1011' },
  ])
})
