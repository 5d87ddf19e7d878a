import { after, before } from 'node:test'
import { mysqlTable } from '../../src/mysql/index.ts'
import { sidecarCases } from '../patterns/sidecar/cases.ts'
import { address, ask, freshName } from './server.ts'

const database = freshName()
let tables = 0

before(() => ask(`create database ${database} character set utf8mb4`))
after(() => ask(`drop database ${database}`))

const quote = (name: string): string => `\`${name.replaceAll('`', '``')}\``

function textOf(name: string): string {
  return name === 'bytes' ? 'lower(hex(bytes))' : `cast(${quote(name)} as char)`
}

sidecarCases({
  name: 'MariaDB',
  types: {
    text: 'text',
    shortText: 'varchar(40)',
    numeric: 'decimal(38, 19)',
    whole: 'bigint',
    bytes: 'blob',
    json: 'json',
    time: 'datetime(3)',
  },
  notes: false,
  check: 'check (n >= 0)',
  quote,
  async create(definition) {
    tables += 1
    await ask(`create table t${tables} (${definition})`, database)
    return `t${tables}`
  },
  target: (table, { isNoting = false } = {}) =>
    mysqlTable({
      connectionString: address(database),
      table,
      ...(isNoting ? { versions: 'versions' } : {}),
    }),
  async rows(table, columns) {
    const list = columns.map((name, index) => `${textOf(name)} as c${index}`)
    const rows = await ask(`select ${list.join(', ')} from ${table} order by 1`, database)
    return rows.map((row) => columns.map((_, index) => row[`c${index}`] as string | null))
  },
  async run(statement) {
    await ask(statement, database)
  },
})
