import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { z } from 'zod'
import { json, sidecar, text, topic } from '../../src/index.ts'
import { mysqlTable } from '../../src/mysql/index.ts'
import { eventually, ManualClock, testRuntime } from '../../src/testing/index.ts'
import { DatabaseProxy } from '../cases/outage/database-proxy.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { address, ask, freshName, server } from './server.ts'

const database = freshName()
before(() => ask(`create database ${database}`))
after(() => ask(`drop database ${database}`))

const things = topic('things', {
  key: text,
  value: json(z.object({ n: z.number(), mail: z.string().optional() })),
  create: { partitions: 1 },
})

function feed(table: string, port?: number) {
  const connectionString = address(database, port === undefined ? {} : { port: String(port) })
  return sidecar('feed', {
    ...stopsAtFailure,
    input: things,
    target: mysqlTable({ connectionString, table }),
    key: { id: ({ key }) => key },
    columns: { n: 'n', mail: 'mail' },
  })
}

test('while the server is away the batch waits, and goes on by itself', async () => {
  await ask('create table outage (id varchar(40) primary key, n bigint, mail text)', database)
  const proxy = new DatabaseProxy({ host: server.hostname, port: Number(server.port || 3306) })
  await proxy.open()
  try {
    const clock = new ManualClock()
    await using runtime = await testRuntime(feed('outage', proxy.port), { clock })
    await runtime.send(things.message({ key: 'a', value: { n: 1 } }))
    await runtime.settled()
    await proxy.turn('refuse')
    await runtime.send(things.message({ key: 'a', value: { n: 2 } }))
    await proxy.turn('pass')
    await eventually('it goes on', async () => {
      await clock.advance(10_000)
      return (await ask('select n from outage', database))[0]?.['n'] === '2'
    })
    await runtime.settled()
  } finally {
    proxy.close()
  }
})

test('another unique index is nobody’s key: its row stays as it is, and the message fails', async () => {
  await ask(
    'create table mails (id varchar(40) primary key, n bigint, mail varchar(40) unique)',
    database,
  )
  await using runtime = await testRuntime(feed('mails'))
  await runtime.send(
    things.message({ key: 'a', value: { n: 1, mail: 'x' } }),
    things.message({ key: 'b', value: { n: 2, mail: 'x' } }),
  )
  await assert.rejects(runtime.settled(), /things\/0\/1 .*SQLSTATE 23000, error 1062/)
  assert.deepEqual(
    (await ask('select id, n, mail from mails', database)).map((row) => ({ ...row })),
    [{ id: 'a', n: '1', mail: 'x' }],
  )
})

test('keys that the collation takes for one are one row, in the order of the log', async () => {
  await ask(
    'create table people (id varchar(40) character set utf8mb4 collate utf8mb4_general_ci primary key, n bigint, mail text)',
    database,
  )
  await using runtime = await testRuntime(feed('people'))
  await runtime.send(
    ...['Élan', 'b', 'elan', 'ELAN '].map((key, n) => things.message({ key, value: { n } })),
  )
  await runtime.settled()
  const rows = await ask('select id, n from people order by id', database)
  assert.deepEqual(
    rows.map(({ id, n }) => [id, n]),
    [
      ['b', '1'],
      ['Élan', '3'],
    ],
  )
})

test('a table without transactions is refused at the start', async () => {
  await ask(
    'create table plain (id varchar(40) primary key, n bigint, mail text) engine = MyISAM',
    database,
  )
  await assert.rejects(testRuntime(feed('plain')), /expected the engine InnoDB.*MyISAM/)
})

test('values that would be cut or rounded are refused', async () => {
  await ask('create table short (id varchar(40) primary key, n tinyint, mail varchar(3))', database)
  for (const [value, why] of [
    [{ n: 1, mail: 'long' }, /error 1406/],
    [{ n: 1.5 }, /a whole number/],
    [{ n: 300 }, /error 1264/],
  ] as const) {
    await using runtime = await testRuntime(feed('short'))
    await runtime.send(things.message({ key: 'a', value }))
    await assert.rejects(runtime.settled(), why)
  }
})
