import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PolluxError, type Store } from '../../../src/index.ts'
import { type TestRuntime, testRuntime } from '../../../src/testing/index.ts'
import { deadLettersOf, told as toldBy } from '../../retry/dead-letters.ts'
import { pgliteDatabase, type TestDatabase } from '../../sql/test-database.ts'
import { stopsAtFailure } from '../../stops-at-failure.ts'
import { type BooksOptions, books, booksGate, factsOf, priceSet, textReady } from '../gate-books.ts'

let database: TestDatabase
let number = 0

before(async () => {
  database = await pgliteDatabase()
})
after(() => database.close())

const store = (): Store => database.store('gates', { migratesAtOpen: true })

/** A gate of its own, in a table of its own. */
function start(options: BooksOptions = {}, table?: string): Promise<TestRuntime> {
  number += 1
  const service = booksGate(`gate-${number}`, table ?? `public.gate_${number}`, options)
  return testRuntime(service, { store: store() })
}

async function told(runtime: TestRuntime): Promise<string[]> {
  await runtime.settled()
  return (await runtime.messages(books)).map(({ value }) => value)
}

const priced = (value: number) => priceSet.message({ key: 'a', value })

test('copies of facts are harmless, before the opening and after it', async () => {
  for (const late of ['ignore', 'dead-letter'] as const) {
    await using runtime = await start({ late })
    const [first, ...others] = factsOf('a')
    await runtime.send(first, first, ...others, ...others)
    assert.deepEqual(await told(runtime), ['opened 12 2030'])
    await runtime.send(...factsOf('a'))
    assert.deepEqual(await told(runtime), ['opened 12 2030'])
    assert.deepEqual(runtime.counts[0]?.own, { begun: 1, opened: 1, repeated: 8 })
  }
})

test('of several facts of a kind, what was kept last stands', async () => {
  await using runtime = await start()
  await runtime.send(priced(10), priced(11), priced(12), priced(13))
  const [words, cover, , rights] = factsOf('a')
  await runtime.send(words, cover, rights)
  assert.deepEqual(await told(runtime), ['opened 13 2030'])
})

test('the row says what has come and what is waited for', async () => {
  await using runtime = await start({ timeout: '1h' })
  await runtime.send(textReady.message({ key: 'a', value: '' }), priced(12))
  await runtime.settled()
  const came = new Date(runtime.clock.now())
  assert.deepEqual(await database.ask(`select * from gate_${number}`), [
    {
      key: 'a',
      text: came,
      cover: null,
      price: came,
      price_payload: 12,
      rights: null,
      rights_payload: null,
      opened_at: null,
      expires_at: new Date(came.getTime() + 3_600_000),
      expired_at: null,
    },
  ])
})

test('a late fact is ignored and counted', async () => {
  await using runtime = await start()
  await runtime.send(...factsOf('a'))
  await runtime.settled()
  await runtime.send(priced(13))
  assert.deepEqual(await told(runtime), ['opened 12 2030'])
  assert.equal(runtime.counts[0]?.own['late'], 1)
})

test('a late fact is a dead letter, and its gate stays as it was', async () => {
  await using runtime = await start({ late: 'dead-letter' })
  await runtime.send(...factsOf('a'))
  await runtime.settled()
  await runtime.send(priced(13))
  await runtime.settled()
  const [letter] = await deadLettersOf(runtime.broker, `gate-${number}`)
  assert.match(
    (letter && toldBy(letter).message) ?? '',
    /The fact 'price' came after its gate had opened/,
  )
  assert.deepEqual(await database.ask(`select price_payload from gate_${number}`), [
    { price_payload: 12 },
  ])
})

test('a late fact makes a revision, once for each that says something new', async () => {
  await using runtime = await start({
    late: (key, { fact, after, facts }) =>
      books.message({ key, value: `${fact} after it ${after}: ${facts.price}` }),
  })
  await runtime.send(...factsOf('a'))
  await runtime.settled()
  await runtime.send(priced(13), priced(13), priced(14))
  assert.deepEqual(await told(runtime), [
    'opened 12 2030',
    'price after it opened: 13',
    'price after it opened: 14',
  ])
})

test('a late fact begins the gate anew', async () => {
  await using runtime = await start({ late: 'reopen' })
  const [words, cover, , rights] = factsOf('a')
  for (const price of [12, 13]) {
    await runtime.send(priced(price))
    await runtime.settled()
    await runtime.send(words, cover, rights)
    await runtime.settled()
  }
  assert.deepEqual(await told(runtime), ['opened 12 2030', 'opened 13 2030'])
})

test('what open throws stops the message that completed the gate, and leaves no trace of it', async () => {
  const runtime = await start({
    ...stopsAtFailure,
    open: () => {
      throw new Error('as planned')
    },
  })
  const [words, ...others] = factsOf('a')
  await runtime.send(...others)
  await runtime.settled()
  await runtime.send(words)
  await assert.rejects(runtime.settled(), /as planned/)
  await assert.rejects(runtime.stop())
  assert.deepEqual(await database.ask(`select text, opened_at from gate_${number}`), [
    { text: null, opened_at: null },
  ])
})

test('a table that lacks columns is refused, with the statement that adds them', async () => {
  await database.ask('create table lacking (key text primary key, text timestamptz)')
  const runtime = await start({}, 'lacking')
  await runtime.send(...factsOf('a'))
  await assert.rejects(runtime.settled(), /alter table "lacking" add column "cover" timestamp/)
  await assert.rejects(runtime.stop())
})

test('a schema that is missing is told, with what to run', async () => {
  const runtime = await start({}, 'nowhere.gates')
  await runtime.send(...factsOf('a'))
  await assert.rejects(runtime.settled(), /cannot be made.*create table if not exists "nowhere"/s)
  await assert.rejects(runtime.stop())
})

test('all that is wrong with a definition is said at once', () => {
  const wrong = {
    facts: { key: { topic: books }, 'a b': { topic: books }, none: {} },
    table: 'a; drop table b',
    db: undefined,
    open: 5,
    late: 'never',
    expire: () => {},
    timout: '1h',
  }
  assert.throws(
    () => booksGate('wrong', 'wrong', wrong as never),
    (error) => {
      assert.ok(PolluxError.is(error, 'POLLUX_OPTION_INVALID'))
      for (const named of ['facts.key', 'facts.a b', 'facts.none', 'table', 'db', 'open', 'late'])
        assert.ok(error.message.includes(`- ${named}: `), `${named}: ${error.message}`)
      assert.match(error.message, /timout: unknown option; did you mean timeout\?/)
      assert.match(error.message, /timeout: expected a duration with expire/)
      return true
    },
  )
})
