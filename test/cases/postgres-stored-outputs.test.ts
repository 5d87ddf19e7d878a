import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { defineService, text, topic } from '../../src/index.ts'
import { postgres, postgresTransaction } from '../../src/postgres/index.ts'
import { eventually } from '../../src/testing/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { Cluster } from './lives/cluster.ts'
import { storedOutputsCases } from './stored-outputs.ts'

const schema = freshName()
const newStore = () => postgres({ connectionString: address(), schema })

before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema ${schema} cascade`))

storedOutputsCases('PostgreSQL', () => ({ cluster: new Cluster(newStore), newStore }))

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

test('case 29: what a transaction stores that commits late, or is taken back in between, is published like all else, in order', async () => {
  await ask(`create table ${schema}.own (id serial primary key, value text)`)
  const reached: string[] = []
  const gates = new Map(['early', 'ended'].map((value) => [value, Promise.withResolvers<void>()]))
  let pid: unknown
  const service = defineService('case-29', {
    inputs: [input],
    outputs: [output],
    uses: { db: postgresTransaction },
    async handle({ key, value }, { db }) {
      const insert = `insert into ${schema}.own (value) values ($1)`
      const [row] = await db.query('select pg_backend_pid() as pid')
      await db.query(insert, [value])
      reached.push(value)
      if (value === 'ended') pid ??= row?.['pid']
      await gates.get(value)?.promise
      // The end of its session is noticed at the latest here.
      await db.query('select 1')
      return output.message({ key, value })
    },
  })
  using cluster = new Cluster(newStore)
  await cluster.createTopics(input, output)
  for (let processes = 0; processes < 2; processes += 1) await cluster.start(service)
  await cluster.until('each has a partition', async () => {
    const { members } = await cluster.admin.group('case-29')
    return members.length === 2 && members.every(({ partitions }) => partitions.length === 1)
  })
  const to = (partition: number, value: string) =>
    input.message({ key: `${partition}`, value, partition })
  /** First appearances: an output whose acknowledgement came too late goes out again. */
  const values = async (partition: number): Promise<string[]> => {
    const records = await cluster.records(output)
    const own = records.filter(({ key }) => String(key) === `${partition}`)
    return [...new Set(own.map(({ value }) => String(value)))]
  }

  // T1 has its number in the table, and is not committed; T2 has a higher one, and is.
  await cluster.send(to(0, 'early'), to(0, 'behind it'))
  await cluster.until('T1 is open', () => reached.includes('early'))
  await cluster.send(to(1, 'late'))
  await cluster.until('T2 is published', async () => (await values(1)).length === 1)
  assert.deepEqual(await values(0), [])

  // T3 is taken back: its number will never come.
  await cluster.send(to(1, 'ended'), to(1, 'last'))
  await cluster.until('T3 is open', () => reached.includes('ended'))
  await ask('select pg_terminate_backend($1)', [pid])
  gates.get('ended')?.resolve()
  await cluster.until('it is done again', async () => (await values(1)).length === 3)
  assert.deepEqual(await values(1), ['late', 'ended', 'last'])
  assert.ok(reached.filter((value) => value === 'ended').length > 1)

  gates.get('early')?.resolve()
  await cluster.until('T1 is published', async () => (await values(0)).length === 2)
  assert.deepEqual(await values(0), ['early', 'behind it'])
  await cluster.until('all is settled', () => cluster.isSettled(service))
  await eventually('nothing is left', async () => {
    await cluster.clock.advance(1_000)
    const left = await ask(`select from ${schema}.pollux_outbox where service = 'case-29'`)
    return left.length === 0
  })
  const rows = await ask(`select value from ${schema}.own order by value`)
  assert.deepEqual(
    rows.map(({ value }) => value),
    ['behind it', 'early', 'ended', 'last', 'late'],
  )
})
