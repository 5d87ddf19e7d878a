import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { z } from 'zod'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { json, PolluxError, sidecar, type Target, text, topic } from '../../src/index.ts'
import type { Logger } from '../../src/ports/logger.ts'
import { postgres, postgresTable, postgresTransaction } from '../../src/postgres/index.ts'
import { eventually, ManualClock, testRuntime } from '../../src/testing/index.ts'
import { DatabaseProxy } from '../cases/outage/database-proxy.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

const schema = freshName()
before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema ${schema} cascade`))

const things = topic('things', {
  key: text,
  value: json(z.object({ n: z.number() })),
  create: { partitions: 1 },
})
const thing = (key: string, n: number) => things.message({ key, value: { n } })

async function freshTable(): Promise<string> {
  const table = `${schema}.${freshName()}`
  await ask(`create table ${table} (id text primary key, n int8 check (n >= 0))`)
  return table
}

function feed(target: Target, batch = 500) {
  return sidecar('feed', {
    ...stopsAtFailure,
    input: things,
    target,
    key: { id: ({ key }) => key },
    columns: { n: 'n' },
    batch,
  })
}

/** Logs the lines that matter. */
function listener(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = []
  const note = (_: object, line: string): void => void lines.push(line)
  return { lines, logger: { debug() {}, info: note, warn: note, error: note } }
}

test('case 44: the connection dies while the bad row is looked for: all is done again, and that row alone refused', async () => {
  const table = await freshTable()
  const place = `${table.replace('.', '_')}_seen`
  // What a sequence counts stays counted when the transaction is gone.
  await ask(`create sequence ${schema}.${place}`)
  await ask(`create function ${schema}.${place}_kill() returns trigger language plpgsql as $$
    begin
      if new.id = 'K300' and nextval('${schema}.${place}') = 1 then
        perform pg_terminate_backend(pg_backend_pid());
      end if;
      return new;
    end $$`)
  await ask(
    `create trigger kill before insert on ${table} for each row execute function ${schema}.${place}_kill()`,
  )
  const target = postgresTable({ connectionString: address(), table })
  await using runtime = await testRuntime(feed(target))
  await runtime.send(
    ...Array.from({ length: 500 }, (_, index) => thing(`K${index}`, index === 250 ? -1 : index)),
  )
  await assert.rejects(runtime.settled(), /things\/0\/250 .*SQLSTATE 23514/)
  const [seen] = await ask(`select last_value::int as last from ${schema}.${place}`)
  assert.ok(Number(seen?.['last']) > 1, 'it died, and K300 was written again')
  const [rows] = await ask(`select count(*)::int as count, sum(n)::int as sum from ${table}`)
  assert.deepEqual(rows, { count: 499, sum: (499 * 500) / 2 - 250 })
})

test('while the database is away the batch waits, in its group, and says so once', async () => {
  const proxy = new DatabaseProxy()
  await proxy.open()
  try {
    const table = await freshTable()
    const clock = new ManualClock()
    const { lines, logger } = listener()
    const target = postgresTable({ connectionString: address({ port: proxy.port }), table })
    await using runtime = await testRuntime(feed(target, 10), { clock, logger })
    await runtime.send(thing('a', 1))
    await runtime.settled()
    await proxy.turn('refuse')
    await runtime.send(...Array.from({ length: 30 }, (_, n) => thing('a', n)))
    const waiting = 'waiting until the target works again'
    await eventually('it waits', () => lines.includes(waiting))
    for (let time = 0; time < 5; time += 1) await clock.advance(10_000)
    await proxy.turn('pass')
    await eventually('it goes on', async () => {
      await clock.advance(10_000)
      return (await ask(`select n from ${table}`))[0]?.['n'] === '29'
    })
    await runtime.settled()
    assert.equal(lines.filter((line) => line === waiting).length, 1)
    assert.equal(lines.filter((line) => line.endsWith('works again')).length, 2)
  } finally {
    proxy.close()
  }
})

test('a stop while the database is away ends the wait; what was not written is delivered again', async () => {
  const proxy = new DatabaseProxy()
  await proxy.open()
  try {
    const table = await freshTable()
    const { lines, logger } = listener()
    const target = postgresTable({ connectionString: address({ port: proxy.port }), table })
    const memory = sharedMemory()
    const clock = new ManualClock()
    const runtime = await testRuntime(feed(target), {
      logger,
      clock,
      broker: embeddedBroker({ memory, clock }),
    })
    await proxy.turn('refuse')
    await runtime.send(thing('a', 1), thing('b', 1))
    await eventually('it waits', () => lines.includes('waiting until the target works again'))
    await runtime.stop()
    await proxy.turn('pass')
    await using next = await testRuntime(feed(target), { broker: embeddedBroker({ memory }) })
    await next.settled()
    assert.equal((await ask(`select from ${table}`)).length, 2)
  } finally {
    proxy.close()
  }
})

test('a table that is dropped while it runs stops the partition, and says so', async () => {
  const table = await freshTable()
  const target = postgresTable({ connectionString: address(), table })
  await using runtime = await testRuntime(feed(target))
  await runtime.send(thing('a', 1))
  await runtime.settled()
  await ask(`drop table ${table}`)
  await runtime.send(thing('a', 2), thing('b', 2))
  await assert.rejects(runtime.settled(), /things\/0\/1 .*refused a request.*42P01/)
})

test('a database that is not there ends the start', async () => {
  const target = postgresTable({ connectionString: address({ port: 1 }), table: 'any' })
  await assert.rejects(testRuntime(feed(target)), (error) =>
    PolluxError.is(error, 'POLLUX_TARGET_UNREACHABLE'),
  )
})

test('values that are unique may change hands within a batch, whatever the order of their keys', async () => {
  const table = await freshTable()
  await ask(`create unique index on ${table} (n)`)
  const target = postgresTable({ connectionString: address(), table })
  await using runtime = await testRuntime(feed(target))
  await runtime.send(thing('a', 1), thing('b', 2))
  await runtime.settled()
  await runtime.send(thing('b', 3), thing('a', 2))
  await runtime.settled()
  assert.deepEqual(await ask(`select id, n from ${table} order by id`), [
    { id: 'a', n: '2' },
    { id: 'b', n: '3' },
  ])
})

test('by hand, what is written commits with the position', async () => {
  const table = await freshTable()
  const byHand = sidecar('by-hand', {
    ...stopsAtFailure,
    input: things,
    uses: { db: postgresTransaction },
    async apply({ key, value }, { db, signal }) {
      signal.throwIfAborted()
      await db.query(
        `insert into ${table} values ($1, $2) on conflict (id) do update set n = ${table.split('.')[1]}.n + excluded.n`,
        [key, value.n],
      )
    },
  })
  const store = postgres({ connectionString: address(), schema })
  await using runtime = await testRuntime(byHand, { store })
  await runtime.send(thing('a', 1), thing('a', 2), thing('b', 5))
  await runtime.settled()
  assert.deepEqual(await ask(`select id, n from ${table} order by id`), [
    { id: 'a', n: '3' },
    { id: 'b', n: '5' },
  ])
})
