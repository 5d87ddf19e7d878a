import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import {
  defineService,
  json,
  nullable,
  PolluxError,
  type Service,
  text,
  topic,
} from '../../src/index.ts'
import type { Store, StoreTransaction } from '../../src/ports/store.ts'
import { postgresTransaction } from '../../src/sql/postgres-transaction.ts'
import { type TestRuntime, testRuntime } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

/** A database that services keep state and rows of their own in. */
export interface OwnDatabase {
  /** A store in that database, opened and closed by whoever runs on it. */
  store(): Store
  /** Asks it past any store. */
  ask(text: string, params?: unknown[]): Promise<readonly Record<string, unknown>[]>
  /** Where the tables of the tests go. */
  readonly schema: string
}

/** The numbered cases about handlers that write rows of their own, on a database. */
export function ownSqlCases(name: string, database: () => OwnDatabase): void {
  sameKeyTwice(name, database)
  absentIsNotNull(name, database)
  oddTexts(name, database)
  tombstones(name, database)
}

const input = topic('input', {
  key: nullable(text),
  value: nullable(text),
  create: { partitions: 1 },
})

/** Counts how many transactions were committed. */
function counting(store: Store, counts: { commits: number }): Store {
  const { transactions } = store
  assert.ok(transactions)
  const begin = async (): Promise<StoreTransaction> => {
    const transaction = await transactions.begin()
    return {
      get broken() {
        return transaction.broken
      },
      attempt: (body) => transaction.attempt(body),
      rollback: () => transaction.rollback(),
      commit: (unit) => {
        counts.commits += 1
        return transaction.commit(unit)
      },
    }
  }
  return storeOver(store, { transactions: { capability: transactions.capability, begin } })
}

/** Sends key and value of each message at once, and waits until all are handled. */
async function settle(
  runtime: TestRuntime,
  ...messages: readonly (readonly [key: string | null, value: string | null])[]
): Promise<void> {
  await runtime.send(...messages.map(([key, value]) => input.message({ key, value })))
  await runtime.settled()
}

function sameKeyTwice(name: string, database: () => OwnDatabase): void {
  test(`case 33: the same key twice in one unit: the later row stands, and both have had their effects; ${name}`, async () => {
    const { store, ask, schema } = database()
    await ask(`create table ${schema}.prices (key text primary key, value text, changes int)`)
    const upserting = defineService('case-33', {
      ...stopsAtFailure,
      inputs: [input],
      uses: { db: postgresTransaction },
      async handle({ key, value }, { db }) {
        await db.query(
          `insert into ${schema}.prices as old values ($1, $2, 1)
          on conflict (key) do update set value = excluded.value, changes = old.changes + 1`,
          [key, value],
        )
      },
    })
    const counts = { commits: 0 }
    await using runtime = await testRuntime(upserting, { store: counting(store(), counts) })
    await settle(runtime, ['K1', 'v1'], ['K2', 'v1'], ['K1', 'v2'])
    assert.deepEqual(await ask(`select * from ${schema}.prices order by key`), [
      { key: 'K1', value: 'v2', changes: 2 },
      { key: 'K2', value: 'v1', changes: 1 },
    ])
    assert.equal(counts.commits, 1, 'in one unit')
  })

  test(`case 33: the same key twice in one unit, with state; ${name}`, async () => {
    const remembering = defineService('case-33-state', {
      ...stopsAtFailure,
      inputs: [input],
      state: json(z.array(z.string())),
      async handle({ value }, { state }) {
        await state.put([...((await state.get()) ?? []), value ?? 'none'])
      },
    })
    await using runtime = await testRuntime(remembering, { store: database().store() })
    await settle(runtime, ['K1', 'v1'], ['K2', 'v1'], ['K1', 'v2'])
    assert.deepEqual(await runtime.state(remembering, 'K1'), ['v1', 'v2'])
    assert.deepEqual(await runtime.state(remembering, 'K2'), ['v1'])
  })
}

const Facts = z.object({
  flavor: z.string().nullable().optional(),
  item: z.string().nullable().optional(),
})

function absentIsNotNull(name: string, database: () => OwnDatabase): void {
  const flavors = topic('flavors', { key: text, value: json(Facts), create: { partitions: 1 } })
  const items = topic('items', { key: text, value: json(Facts), create: { partitions: 1 } })

  test(`case 36: a field that is absent leaves its column as it is, null clears it, in any order; ${name}`, async () => {
    const { store, ask, schema } = database()
    await ask(`create table ${schema}.merged (id text primary key, flavor text, item text)`)
    const merging = defineService('case-36', {
      ...stopsAtFailure,
      inputs: [flavors, items],
      uses: { db: postgresTransaction },
      async handle({ key, value }, { db }) {
        await db.query(
          `insert into ${schema}.merged as old values ($1, $2, $3)
          on conflict (id) do update set
            flavor = case when $4 then excluded.flavor else old.flavor end,
            item = case when $5 then excluded.item else old.item end`,
          [key, value.flavor, value.item, 'flavor' in value, 'item' in value],
        )
      },
    })
    await using runtime = await testRuntime(merging, { store: store() })
    const flavor = (key: string, value: string | null) =>
      flavors.message({ key, value: { flavor: value } })
    const item = (key: string, value: string) => items.message({ key, value: { item: value } })
    await runtime.send(flavor('1', 'x'))
    await runtime.settled()
    await runtime.send(item('1', 'y'), item('2', 'y'))
    await runtime.settled()
    await runtime.send(flavor('2', 'x'))
    await runtime.settled()
    const rows = () => ask(`select * from ${schema}.merged order by id`)
    const full = { flavor: 'x', item: 'y' }
    assert.deepEqual(await rows(), [
      { id: '1', ...full },
      { id: '2', ...full },
    ])
    await runtime.send(flavor('1', null))
    await runtime.settled()
    assert.deepEqual(await rows(), [
      { id: '1', flavor: null, item: 'y' },
      { id: '2', ...full },
    ])
  })
}

// NUL, half an emoji, a whole one, and six visible characters.
const nul = 'a\u0000b'
const half = '\ud83d'
const emoji = '😀'
const visible = '\\u0000'
const odd = [nul, half, emoji, visible] as const

function oddTexts(name: string, database: () => OwnDatabase): void {
  const documents = topic('documents', {
    key: text,
    value: json(z.object({ text: z.string() })),
    create: { partitions: 1 },
  })

  test(`case 39: NUL and half an emoji in keys, values, ids and state stop nothing and come back as they were; ${name}`, async () => {
    const remembering = defineService('case-39', {
      ...stopsAtFailure,
      inputs: [documents],
      outputs: [documents],
      state: json(z.object({ texts: z.array(z.string()) })),
      idempotency: { by: 'event-id', id: ({ value }) => value.text },
      async handle({ key, value }, { state }) {
        const { texts } = (await state.get()) ?? { texts: [] }
        await state.put({ texts: [...texts, value.text] })
        if (!key.startsWith('out')) return documents.message({ key: `out ${key}`, value })
      },
    })
    await using runtime = await testRuntime(remembering, { store: database().store() })
    const messages = odd.map((value) => documents.message({ key: nul, value: { text: value } }))
    // Each comes twice; its id tells that.
    await runtime.send(...messages, ...messages)
    await runtime.settled()
    assert.deepEqual(await runtime.state(remembering, nul), { texts: [...odd] })
    const outputs = await runtime.messages(documents)
    assert.deepEqual(
      outputs.filter(({ key }) => key.startsWith('out')).map(({ value }) => value.text),
      [...odd],
    )
  })

  test(`case 39: NUL in the header with an event's id tells events apart like any other byte; ${name}`, async () => {
    const seen: (string | null)[] = []
    const counting_ = defineService('case-39-header', {
      ...stopsAtFailure,
      inputs: [input],
      idempotency: { by: 'event-id' },
      handle: ({ value }) => void seen.push(value),
    })
    await using runtime = await testRuntime(counting_, { store: database().store() })
    const ids = ['e', 'e\u0000', '\u0000e', Buffer.from([0xed, 0xa0, 0xbd]), emoji, visible]
    const messages = ids.map((id, index) =>
      input.message({ key: 'k', value: `${index}`, headers: { id } }),
    )
    await runtime.send(...messages, ...messages)
    await runtime.settled()
    assert.deepEqual(seen, ['0', '1', '2', '3', '4', '5'])
  })

  /** Writes a text as it is, or as `clean` has it, as text and as jsonb. */
  function writing(table: string, clean: (given: string) => string): Service {
    return defineService('case-39-rows', {
      ...stopsAtFailure,
      inputs: [documents],
      uses: { db: postgresTransaction },
      async handle({ key, value }, { db }) {
        const cleaned = clean(value.text)
        await db.query(`insert into ${table} values ($1, $2, $3)`, [
          key,
          cleaned,
          JSON.stringify({ text: cleaned }),
        ])
      },
    })
  }

  test(`case 39: a value that the database does not take fails its own message, and a handler that replaces it goes on; ${name}`, async () => {
    const { store, ask, schema } = database()
    const table = `${schema}.documents`
    await ask(`create table ${table} (key text, as_text text, as_json jsonb)`)
    const first = await testRuntime(
      writing(table, (given) => given),
      { store: store() },
    )
    const { broker } = first
    // The log outlives this service.
    broker.close = async () => {}
    await first.send(
      ...[emoji, visible, nul, half, 'last'].map((value, index) =>
        documents.message({ key: `${index}`, value: { text: value } }),
      ),
    )
    await assert.rejects(first.settled(), (error) => {
      assert.ok(PolluxError.is(error, 'POLLUX_HANDLER_FAILED'), String(error))
      assert.match(error.message, /documents\/0\/2 failed: /)
      return true
    })
    await first.stop().catch(() => {})
    const rows = async () =>
      (await ask(`select key, as_text, as_json from ${table} order by key`)).map((row) => [
        row['key'],
        row['as_text'],
        (row['as_json'] as { text: string }).text,
      ])
    const whole = [
      ['0', emoji, emoji],
      ['1', visible, visible],
    ]
    assert.deepEqual(await rows(), whole, 'those before it are there')
    const replaced = (given: string): string => given.replaceAll('\u0000', '\ufffd').toWellFormed()
    await using second = await testRuntime(writing(table, replaced), { store: store(), broker })
    await second.settled()
    assert.deepEqual(await rows(), [
      ...whole,
      ['2', 'a\ufffdb', 'a\ufffdb'],
      ['3', '\ufffd', '\ufffd'],
      ['4', 'last', 'last'],
    ])
  })

  test(`case 39: an error text with such characters is told, and ends nothing but its partition; ${name}`, async () => {
    for (const [index, value] of odd.entries()) {
      const throwing = defineService(`case-39-error-${index}`, {
        ...stopsAtFailure,
        inputs: [input],
        state: text,
        handle() {
          throw new Error(`before ${value} behind`)
        },
      })
      const lines: string[] = []
      const keep = (fields: object, message: string): void =>
        void lines.push(JSON.stringify({ ...fields, message }))
      const runtime = await testRuntime(throwing, {
        store: database().store(),
        logger: { debug: keep, info: keep, warn: keep, error: keep },
      })
      await assert.rejects(settle(runtime, ['k', 'v']), (error) => {
        assert.ok(PolluxError.is(error, 'POLLUX_HANDLER_FAILED'))
        assert.ok(error.message.includes(`before ${value} behind`))
        return true
      })
      await runtime.stop().catch(() => {})
      assert.ok(
        lines.some((line) => (JSON.parse(line) as { message: string }).message.includes(value)),
      )
    }
  })
}

const story = [
  ['K1', 'v1'],
  ['K1', null],
  ['K1', null],
  ['K9', null],
  ['K1', 'v2'],
  ['K2', 'v1'],
  ['K2', null],
  [null, null],
] as const

function tombstones(name: string, database: () => OwnDatabase): void {
  for (const isOneBatch of [true, false]) {
    const how = isOneBatch ? 'in one unit' : 'one by one'

    test(`case 42: tombstones delete rows, once or again or in vain, and later values make new ones, ${how}; ${name}`, async () => {
      const { store, ask, schema } = database()
      const table = `${schema}.rows_${isOneBatch ? 'batch' : 'single'}`
      await ask(`create table ${table} (key text primary key, value text not null)`)
      let keyless = 0
      const mirroring = defineService(`case-42-${isOneBatch}`, {
        inputs: [input],
        uses: { db: postgresTransaction },
        async handle({ key, value }, { db }) {
          if (key === null) keyless += 1
          else if (value === null) await db.query(`delete from ${table} where key = $1`, [key])
          else
            await db.query(
              `insert into ${table} values ($1, $2)
              on conflict (key) do update set value = excluded.value`,
              [key, value],
            )
        },
      })
      await using runtime = await testRuntime(mirroring, { store: store() })
      if (isOneBatch) await settle(runtime, ...story)
      else for (const message of story) await settle(runtime, message)
      assert.deepEqual(await ask(`select * from ${table}`), [{ key: 'K1', value: 'v2' }])
      assert.equal(keyless, 1)
    })

    test(`case 42: tombstones delete state likewise, ${how}; ${name}`, async () => {
      const seen: string[] = []
      const mirroring = defineService(`case-42-state-${isOneBatch}`, {
        inputs: [input],
        state: text,
        concurrency: 1,
        async handle({ key, value }, { state }) {
          if (key === null) return
          seen.push(`${key}: ${(await state.get()) ?? 'nothing'}`)
          if (value === null) await state.delete()
          else await state.put(value)
        },
      })
      await using runtime = await testRuntime(mirroring, { store: database().store() })
      if (isOneBatch) await settle(runtime, ...story)
      else for (const message of story) await settle(runtime, message)
      assert.deepEqual(seen, [
        'K1: nothing',
        'K1: v1',
        'K1: nothing',
        'K9: nothing',
        'K1: nothing',
        'K2: nothing',
        'K2: v1',
      ])
      assert.equal(await runtime.state(mirroring, 'K1'), 'v2')
      for (const key of ['K2', 'K9']) assert.equal(await runtime.state(mirroring, key), undefined)
    })
  }
}
