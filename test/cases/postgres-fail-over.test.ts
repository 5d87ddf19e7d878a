import { after, before } from 'node:test'
import { postgres } from '../../src/postgres/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { failOverCases } from './fail-over.ts'
import { Cluster } from './lives/cluster.ts'

const schema = freshName()
const newStore = () => postgres({ connectionString: address(), schema })
const tables = ['pollux_ledger', 'pollux_state', 'pollux_inbox', 'pollux_outbox']

before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema ${schema} cascade`))

failOverCases('PostgreSQL', {
  newCluster: () => new Cluster(newStore),
  newStore,
  async snapshot() {
    const copies = `${schema}.copy_${freshName()}_`
    for (const table of tables)
      await ask(`create table ${copies}${table} as select * from ${schema}.${table}`)
    const statements = tables.map(
      (table) =>
        `delete from ${schema}.${table}; insert into ${schema}.${table} select * from ${copies}${table};`,
    )
    return async () => {
      await ask(`begin; ${statements.join(' ')} commit`)
    }
  },
})
