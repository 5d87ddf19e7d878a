import { after, before } from 'node:test'
import { postgresTable } from '../../src/postgres/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
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
