import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { cube } from '@electric-sql/pglite/contrib/cube'
import { earthdistance } from '@electric-sql/pglite/contrib/earthdistance'
import { vector } from '@electric-sql/pglite-pgvector'
import { z } from 'zod'
import { delegate, json, type PolluxError, text, topic } from '../../../src/index.ts'
import { classify } from '../../../src/patterns/delegate/classify.ts'
import { pgvectorTable, placesTable } from '../../../src/postgres/index.ts'
import { testRuntime } from '../../../src/testing/index.ts'
import { aroundDelft, cities, delft, inKilometres } from './cities.ts'

let db: PGlite

before(async () => {
  db = new PGlite({ extensions: { vector, cube, earthdistance } })
  await db.exec(`
    create extension vector; create extension cube; create extension earthdistance;
    create schema "my ""things""";
    create table "my ""things"""."The Texts" ("Text" text primary key, "e m b" vector(3), "at" bigint);
    create table points (id text primary key, embedding vector(3));
    create table cities (id text primary key, latitude float8, longitude float8, version bigint);
    create index on cities using gist (ll_to_earth(latitude, longitude));
  `)
})
after(() => db.close())

const texts = () =>
  pgvectorTable({
    db,
    schema: 'my "things"',
    table: 'The Texts',
    id: 'Text',
    embedding: 'e m b',
    version: 'at',
  })

test('embeddings are written and found again, nearest first, whatever the names in the database', async () => {
  await texts().upsert([
    { id: 'right', embedding: [1, 0, 0], version: 1 },
    { id: 'up', embedding: new Float32Array([0, 1, 0]), version: 1 },
    { id: 'almost right', embedding: [1, 0.1, 0], version: 1 },
  ])
  const found = await texts().nearest([1, 0, 0], { limit: 2 })
  assert.deepEqual(
    found.map(({ id }) => id),
    ['right', 'almost right'],
  )
  assert.equal(found[0]?.distance, 0)
  await texts().remove(['right', 'never there'])
  assert.deepEqual(
    (await texts().nearest([1, 0, 0])).map(({ id }) => id),
    ['almost right', 'up'],
  )
})

test('cases 33, 34: the newest version of an id stands, in one statement and over several', async () => {
  const table = texts()
  const at = async (): Promise<unknown> =>
    (await table.nearest([0, 0, 1])).find(({ id }) => id === 'k')?.distance
  await table.upsert([
    { id: 'k', embedding: [0, 1, 0], version: 3n },
    { id: 'k', embedding: [0, 0, 1], version: 5n },
    { id: 'k', embedding: [1, 0, 0], version: 4n },
  ])
  assert.equal(await at(), 0)
  await table.upsert([{ id: 'k', embedding: [0, 1, 0], version: 4 }])
  assert.equal(await at(), 0, 'an older one changes nothing')
  await table.upsert([{ id: 'k', embedding: [0, 1, 0], version: 2n ** 62n }])
  assert.equal(await at(), 1)
  await assert.rejects(table.upsert([{ id: 'k', embedding: [0, 1, 0] }]), /'k' has no version/)
})

test('each metric is its own; without versions the last write stands', async () => {
  await pgvectorTable({ db, table: 'points' }).upsert([
    { id: 'p', embedding: [9, 9, 9] },
    { id: 'p', embedding: [3, 4, 0] },
  ])
  const distance = async (metric: 'cosine' | 'euclidean' | 'inner-product'): Promise<unknown> =>
    (await pgvectorTable({ db, table: 'points', metric }).nearest([3, 0, 0]))[0]?.distance
  assert.deepEqual([await distance('euclidean'), await distance('inner-product')], [4, -9])
  assert.ok(Math.abs(Number(await distance('cosine')) - 0.4) < 1e-6)
  await pgvectorTable({ db, table: 'points' }).upsert([])
})

test('what is no embedding is refused for good, and a database that is away is not', async () => {
  const table = pgvectorTable({ db, table: 'points' })
  for (const embedding of [
    [1, 2],
    [Number.NaN, 1, 2],
  ])
    await assert.rejects(
      table.upsert([{ id: 'x', embedding }]),
      (error) => classify(error).kind === 'permanent',
    )
})

test('places within a distance are found, nearest first, in metres', async () => {
  const table = placesTable({ db, table: 'cities', version: 'version' })
  await table.upsert(cities.map((city) => ({ ...city, version: 1 })))
  const found = await table.nearest({ ...delft, within: 20_000 })
  assert.deepEqual(inKilometres(found), aroundDelft)
  assert.deepEqual(await table.nearest({ ...delft, within: 1_000 }), [])
  assert.equal((await table.nearest({ ...delft, within: 20_000, limit: 1 })).length, 1)
  await table.remove([found[0]?.id ?? ''])
  assert.equal((await table.nearest({ ...delft, within: 20_000 })).length, 1)
})

test('a delegate that fills a table: many at once, and an older version that comes late changes nothing', async () => {
  const notes = topic('notes', {
    key: text,
    value: json(z.object({ at: z.number(), embedding: z.array(z.number()) })),
  })
  const fill = delegate('fill', {
    input: notes,
    callMany: async (messages) => {
      await texts().upsert(
        messages.map(({ key, value }) => ({
          id: key,
          embedding: value.embedding,
          version: value.at,
        })),
      )
      return messages.map(() => undefined)
    },
    batch: { size: 10, wait: 0 },
  })
  await using runtime = await testRuntime(fill)
  const note = (at: number, embedding: number[]): ReturnType<typeof notes.message> =>
    notes.message({ key: 'note', value: { at, embedding } })
  await runtime.send(note(2, [0.5, 0.5, 0.7]), note(1, [1, 0, 0]))
  await runtime.settled()
  const [nearest] = await texts().nearest([0.5, 0.5, 0.7], { limit: 1 })
  assert.equal(nearest?.id, 'note')
})

test('everything that is wrong with the options of a table is said at once', () => {
  const wrong = { db: {}, table: '', metric: 'far' }
  assert.throws(
    () => pgvectorTable(wrong as never),
    (error: PolluxError) => {
      assert.equal(error.code, 'POLLUX_OPTION_INVALID')
      for (const said of [/db: expected/, /table: expected a name/, /metric: expected 'cosine' or/])
        assert.match(error.message, said)
      return true
    },
  )
  assert.throws(() => placesTable({} as never), /db: expected[\s\S]*table: expected/)
})
