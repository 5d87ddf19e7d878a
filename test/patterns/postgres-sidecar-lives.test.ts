import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { postgresTable } from '../../src/postgres/index.ts'
import { eventually } from '../../src/testing/index.ts'
import { areSettled, messagesOf, sendTo } from '../../src/testing/logs.ts'
import { Child } from '../crash/child-process.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { feeders, plainFold, type Row, things, versionedFold } from './sidecar/lives.ts'

const schema = freshName()
const messages = 3_000
const lives = 8

before(async () => {
  await ask(`create schema ${schema}`)
  await ask(`create table ${schema}.plain (id text primary key, a text, b text)`)
  await ask(`create table ${schema}.versioned (id text primary key, a text, b text, revision int8)`)
})
after(() => ask(`drop schema ${schema} cascade`))

async function rowsOf(table: string): Promise<ReadonlyMap<string, Row>> {
  const rows = await ask(`select id, a, b from ${schema}.${table}`)
  return new Map(rows.map(({ id, a, b }) => [id, [a, b]] as [string, Row]))
}

/** A log with keys that come again and again, tombstones, absent fields, and versions out of order. */
function randomLog() {
  return Array.from({ length: messages }, (_, index) => {
    const any = (most: number): number => Math.floor(Math.random() * most)
    const value = {
      ...(any(3) === 0 ? {} : { a: any(4) === 0 ? null : `a${index}` }),
      ...(any(3) === 0 ? {} : { b: `b${index}` }),
      revision: Math.max(1, index - any(200)),
    }
    return things.message({ key: `k${any(40)}`, value: any(8) === 0 ? null : value })
  })
}

test('killed again and again, and replayed from the start, the tables are the straight fold of the log', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-sidecar-'))
  const broker = embeddedBroker({ folder })
  t.after(async () => {
    await broker.close()
    await rm(folder, { recursive: true })
  })
  await broker.connect()
  await broker.admin.createTopics([{ name: 'things', partitions: 3, config: {} }])
  await sendTo(broker, ...randomLog())
  for (const name of ['first', 'replay']) {
    const settings = { folder, name, connectionString: address(), schema }
    for (let life = 1; life <= lives; life += 1) {
      const child = new Child('patterns/sidecar/lives-process.ts', settings)
      const enough = 1 + Math.floor(Math.random() * 12)
      await eventually('it has done a part of the work, or all', () => {
        assert.equal(child.hasEnded, false, child.errors)
        return child.lines.length >= enough
      })
      await child.kill()
    }
    const last = new Child('patterns/sidecar/lives-process.ts', settings)
    const services = feeders(name, () =>
      postgresTable({ table: 'any', connectionString: address() }),
    )
    await eventually(
      'all is fed',
      () => {
        assert.equal(last.hasEnded, false, last.errors)
        return areSettled(broker, services)
      },
      { deadline: 60_000 },
    )
    await last.kill()
    const log = (await messagesOf(broker, things)).toSorted(
      (one, other) => one.partition - other.partition || Number(one.offset - other.offset),
    )
    assert.deepEqual(await rowsOf('plain'), plainFold(log))
    assert.deepEqual(await rowsOf('versioned'), versionedFold(log))
    assert.ok((await rowsOf('versioned')).size > 10)
  }
})
