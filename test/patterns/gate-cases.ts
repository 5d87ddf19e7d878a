import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { milliseconds } from '../../src/duration.ts'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { fact, gate, gates, run, text, topic } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgresTransaction } from '../../src/sql/postgres-transaction.ts'
import { eventually, ManualClock, messagesOf, testRuntime } from '../../src/testing/index.ts'
import { sendTo } from '../../src/testing/logs.ts'
import type { OwnDatabase } from '../cases/own-sql.ts'
import { kept } from '../engine/kept.ts'
import {
  type BooksOptions,
  books,
  booksGate,
  coverApproved,
  factsOf,
  priceSet,
  rightsCleared,
  textReady,
} from './gate-books.ts'

/** The numbered cases of a gate, on a database. */
export function gateCases(name: string, database: () => OwnDatabase): void {
  const table = (): string => `${database().schema}.book_readiness`
  beforeEach(() => database().ask(`drop table if exists ${table()}`))

  twoAtOnce(name, database, table)
  anyOrder(name, database, table)
  anyPartition(name, database, table)
  deadlines(name, database, table)
  looking(name, database, table)
}

function twoAtOnce(name: string, database: () => OwnDatabase, table: () => string): void {
  test(`case 46: two facts at once, handled by two members, and one of them twice: each gate opens once; ${name}`, async () => {
    const rounds = 500
    const create = { partitions: 1 }
    const left = topic('left', { key: text, value: text, create })
    const right = topic('right', { key: text, value: text, create })
    const pairs = gate('pairs', {
      facts: { left: fact(left), right: fact(right) },
      outputs: [books],
      table: table(),
      db: postgresTransaction,
      batch: 50,
      open: (key) => books.message({ key, value: 'opened' }),
    })
    const memory = sharedMemory()
    const { admin } = embeddedBroker({ memory })
    await admin.createTopics(
      ['left', 'right', 'books'].map((topic) => ({ name: topic, partitions: 1 })),
    )
    const members = await Promise.all(
      [1, 2].map(() =>
        run(pairs, {
          broker: embeddedBroker({ memory }),
          store: database().store(),
          logger: silent,
          signals: false,
        }),
      ),
    )
    const broker = embeddedBroker({ memory })
    const keys = Array.from({ length: rounds }, (_, index) => `${index}`)
    await Promise.all([
      sendTo(broker, ...keys.map((key) => left.message({ key, value: '' }))),
      // Backwards, so that locks taken in the order of arrival would meet.
      sendTo(broker, ...keys.toReversed().map((key) => right.message({ key, value: '' }))),
    ])
    await sendTo(broker, ...keys.map((key) => left.message({ key, value: '' })))
    await eventually('all facts were taken in', () => {
      const counts = members.map((member) => member.counts[0]?.own ?? {})
      const total = (of: string): number => counts.reduce((sum, own) => sum + (own[of] ?? 0), 0)
      return total('repeated') >= rounds && total('opened') >= rounds
    })
    for (const member of members) await member.stop()
    const opened = await messagesOf(broker, books)
    assert.deepEqual(opened.map(({ key }) => key).toSorted(), keys.toSorted())
    assert.equal(new Set(opened.map(({ id }) => id)).size, rounds)
  })
}

function anyOrder(name: string, database: () => OwnDatabase, table: () => string): void {
  for (const restarts of [false, true]) {
    const how = restarts ? 'with a restart between any two' : 'one after the other'
    test(`case 47: four facts in each of their 24 orders, ${how}: the fourth opens; ${name}`, async () => {
      const { store, ask } = database()
      const broker = kept(embeddedBroker())
      const orders = permutations([0, 1, 2, 3])
      const start = () =>
        testRuntime(booksGate(`any-order-${restarts}`, table()), { broker, store: store() })
      let runtime = await start()
      for (const place of [0, 1, 2, 3]) {
        assert.deepEqual(await runtime.messages(books), [], `none is open after ${place} facts`)
        const next = orders.map((order) => factsOf(order.join(''))[order[place] as number])
        await runtime.send(...next.map((message) => message ?? assert.fail('no fact')))
        await runtime.settled()
        if (!restarts) continue
        await runtime.stop()
        runtime = await start()
      }
      const opened = await runtime.messages(books)
      assert.deepEqual(
        opened.map(({ key, value }) => [key, value]).toSorted(),
        orders.map((order) => [order.join(''), 'opened 12 2030']).toSorted(),
      )
      const [row] = await ask(`select count(opened_at)::int as opened from ${table()}`)
      assert.equal(row?.['opened'], 24)
      await runtime.stop()
    })
  }
}

function anyPartition(name: string, database: () => OwnDatabase, table: () => string): void {
  test(`case 49: facts of a key that lie in different partitions, as producers hash differently, open one gate; ${name}`, async () => {
    await using runtime = await testRuntime(booksGate('any-partition', table()), {
      store: database().store(),
    })
    const keys = ['100:48069', 'TT0124', 'Ключ', '\u{1F4D6}']
    const inPartition = (partition: number) =>
      keys.flatMap((key, index) =>
        factsOf(key).map(({ topic, fields }, place) => ({
          topic,
          fields: { ...fields, partition: (partition + index + place) % 3 },
        })),
      )
    await runtime.send(...inPartition(0), ...inPartition(1))
    await runtime.settled()
    const opened = (await runtime.messages(books)).map(({ key }) => key)
    assert.deepEqual(opened.toSorted(), keys.toSorted())
  })
}

function deadlines(name: string, database: () => OwnDatabase, table: () => string): void {
  const incomplete: BooksOptions = {
    timeout: '1h',
    forget: '12h',
    expire: (key, missing, { price }) =>
      books.message({ key, value: `no ${missing.join(', ')}; price ${price}` }),
  }

  test(`case 48: at its deadline a gate tells what is missing, once, and what comes later is late; ${name}`, async () => {
    const { store, ask } = database()
    await using runtime = await testRuntime(booksGate('deadline', table(), incomplete), {
      store: store(),
    })
    const { clock } = runtime
    const told = async (): Promise<string[]> =>
      (await runtime.messages(books)).map(({ value }) => value)
    const [words, cover, price, rights] = factsOf('a')
    await runtime.send(words, price)
    await runtime.settled()
    await advance(clock, '1h', -1_000)
    assert.deepEqual(await told(), [])
    await eventually('it is told', async () => {
      await clock.advance(1_000)
      return (await told()).length === 1
    })
    assert.deepEqual(await told(), ['no cover, rights; price 12'])
    for (const late of [cover, rights, cover]) {
      await clock.advance(1_000)
      await runtime.send(late)
      await runtime.settled()
    }
    assert.equal((await told()).length, 1)
    assert.equal(runtime.counts[0]?.own['late'], 3)
    await eventually('it is forgotten', async () => {
      await clock.advance(milliseconds('1h'))
      return (await ask(`select from ${table()}`)).length === 0
    })
    await runtime.send(...factsOf('a'))
    await runtime.settled()
    assert.deepEqual((await told()).slice(1), ['opened 12 2030'], 'the key is used again')
  })

  test(`case 48: a fact after the deadline is late, although nobody was there when it passed; ${name}`, async () => {
    const { store } = database()
    const broker = kept(embeddedBroker())
    const clock = new ManualClock()
    const start = () =>
      testRuntime(booksGate('deadline-missed', table(), incomplete), {
        broker,
        store: store(),
        clock,
      })
    const before = await start()
    await before.send(...factsOf('a').slice(0, 3))
    await before.settled()
    await before.stop()
    await clock.advance(milliseconds('1h') + 1_000)
    await sendTo(broker, ...factsOf('a').slice(3))
    await using after = await start()
    await after.settled()
    await eventually('it is told', async () => (await after.messages(books)).length > 0)
    await after.send(...factsOf('a'))
    await after.settled()
    const told = (await after.messages(books)).map(({ value }) => value)
    assert.deepEqual(told, ['no rights; price 12'])
  })
}

function looking(name: string, database: () => OwnDatabase, table: () => string): void {
  test(`gates() says which gates wait and for what, and what a key's row says; ${name}`, async () => {
    const { store, ask } = database()
    const service = booksGate('looked-at', table(), { timeout: '2h' })
    const looking_ = gates(service, { query: ask })
    await assert.rejects(looking_.waiting(), { code: 'POLLUX_TABLE_INVALID' })
    await using runtime = await testRuntime(service, { store: store() })
    const start = runtime.clock.now()
    const [words, cover, price, rights] = factsOf('a')
    await runtime.send(words, price)
    await runtime.settled()
    await runtime.clock.advance(milliseconds('1h'))
    await runtime.send(cover, ...factsOf('b').slice(1), ...factsOf('c'))
    await runtime.settled()
    const now = runtime.clock.now()
    const waiting = async (filter: Parameters<typeof looking_.waiting>[0]) =>
      (await looking_.waiting(filter)).map(({ key, missing }) => [key, ...missing])
    const [a, b] = [
      ['a', 'rights'],
      ['b', 'text'],
    ]
    assert.deepEqual(await waiting({}), [a, b])
    assert.deepEqual(await waiting({ missing: 'text' }), [b])
    assert.deepEqual(await waiting({ limit: 1 }), [a])
    assert.deepEqual(await waiting({ olderThan: '3650d' }), [])
    assert.deepEqual(await looking_.find('a'), {
      key: 'a',
      stage: 'waiting',
      missing: ['rights'],
      since: start,
      openedAt: null,
      expiresAt: start + milliseconds('2h'),
      expiredAt: null,
      facts: [
        { name: 'text', cameAt: start, payload: undefined },
        { name: 'cover', cameAt: now, payload: undefined },
        { name: 'price', cameAt: start, payload: 12 },
        { name: 'rights', cameAt: null, payload: undefined },
      ],
    })
    await runtime.send(rights)
    await runtime.settled()
    const { stage, openedAt } = (await looking_.find('a')) ?? {}
    assert.deepEqual([stage, openedAt], ['opened', now])
    assert.equal(await looking_.find('nobody'), undefined)
  })
}

/** Takes its time on PGlite, which has nothing of its own to do here. */
export function roomCase(name: string, database: () => OwnDatabase): void {
  const table = (): string => `${database().schema}.full`

  test(`while as many gates wait as may, their facts go through, those of other keys wait, and none is lost; ${name}`, async () => {
    const { store, ask } = database()
    const broker = kept(embeddedBroker())
    const lines: string[] = []
    const log = (_: object, message: string): void => void lines.push(message)
    const logger = { debug() {}, info: log, warn: log, error: log }
    const start = () =>
      testRuntime(booksGate('full', table(), { maxOpen: 3, timeout: '30d' }), {
        broker,
        store: store(),
        logger,
      })
    let runtime = await start()
    const number = (of: string): number => runtime.counts[0]?.own[of] ?? 0
    const open = async (): Promise<number> =>
      Number((await ask(`select count(*) as n from ${table()} where opened_at is null`))[0]?.['n'])
    const keys = Array.from({ length: 12 }, (_, index) => `${index}`)
    // All on one partition, so that those that wait are in front of the others.
    await runtime.send(...keys.map((key) => textReady.message({ key, value: '', partition: 0 })))
    await eventually('three wait', async () => (await open().catch(() => 0)) === 3)
    for (let second = 0; second < 5; second += 1) await runtime.clock.advance(1_000)
    assert.equal(await open(), 3)
    assert.equal(runtime.counts[0]?.gauges['gate_open'], 3)
    await runtime.stop()
    runtime = await start()
    const rest = (key: string) => [
      coverApproved.message({ key, value: '' }),
      // Behind those that wait.
      textReady.message({ key, value: '', partition: 0 }),
      priceSet.message({ key, value: 1 }),
      rightsCleared.message({ key, value: '' }),
    ]
    await runtime.send(...rest('1'))
    await eventually('a gate opens, and another one takes its place', async () => {
      await runtime.clock.advance(1_000)
      return number('opened') === 1 && number('begun') === 1
    })
    await runtime.send(...keys.filter((key) => key !== '1').flatMap(rest))
    await eventually('all are open', async () => {
      assert.ok((await open()) <= 3)
      await runtime.clock.advance(1_000)
      return number('opened') === keys.length
    })
    await runtime.settled()
    const opened = (await runtime.messages(books)).map(({ key }) => key)
    assert.deepEqual(opened.toSorted(), keys.toSorted())
    await runtime.clock.advance(20_000)
    await runtime.send(textReady.message({ key: '1', value: '' }))
    await runtime.settled()
    await runtime.stop()
    const [full, room_] = [/^as many gates wait as maxOpen/, /^there is room/]
    assert.deepEqual(
      lines.flatMap((line) => (full.test(line) ? ['full'] : room_.test(line) ? ['room'] : [])),
      ['full', 'full', 'room'],
      'once in each life, and once at the end',
    )
  })
}

/** Moves time in steps, so that runs that are due have theirs. */
async function advance(clock: ManualClock, by: `${number}h`, more: number): Promise<void> {
  for (let left = milliseconds(by) + more; left > 0; left -= 60_000)
    await clock.advance(Math.min(left, 60_000))
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  )
}
