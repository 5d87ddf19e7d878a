import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import {
  json,
  nullable,
  type OutputMessage,
  PolluxError,
  sidecar,
  text,
  topic,
} from '../../../src/index.ts'
import { testRuntime } from '../../../src/testing/index.ts'
import { stopsAtFailure } from '../../stops-at-failure.ts'
import type { World } from './world.ts'

const Item = z.object({
  item: z.string().nullish(),
  flavor: z.string().nullish(),
  n: z.union([z.number(), z.string()]).optional(),
  revision: z.number().optional(),
})
type ItemValue = z.infer<typeof Item> | null

const items = topic('items', {
  key: text,
  value: nullable(json(Item)),
  create: { partitions: 1 },
})
const key = { id: (message: { readonly key: string }) => message.key }
const columns = { item: 'item', flavor: 'flavor', n: 'n' } as const

function item(id: string, value: ItemValue, timestamp?: number): OutputMessage<typeof items> {
  return items.message({ key: id, value, ...(timestamp === undefined ? {} : { timestamp }) })
}

/** The numbered cases, on a database. */
export function sidecarCases(world: World): void {
  const { types } = world
  const itemTable = (): Promise<string> =>
    world.create(
      `id ${types.shortText} not null primary key, item ${types.text}, flavor ${types.text}, n ${types.whole}, revision ${types.whole}, ${world.check}`,
    )
  const itemRows = (table: string): ReturnType<World['rows']> =>
    world.rows(table, ['id', 'item', 'flavor', 'n'])

  for (const batch of [1, 500]) {
    test(`case 33: the last of one key stands, in batches of ${batch} (${world.name})`, async () => {
      const table = await itemTable()
      const feed = sidecar('feed', {
        ...stopsAtFailure,
        input: items,
        target: world.target(table),
        key,
        columns,
        batch,
      })
      await using runtime = await testRuntime(feed)
      await runtime.send(
        item('K1', { item: 'v1' }),
        item('K2', { item: 'v1' }),
        item('K1', { item: 'v2' }),
      )
      await runtime.settled()
      assert.deepEqual(await itemRows(table), [
        ['K1', 'v2', null, null],
        ['K2', 'v1', null, null],
      ])
    })

    for (const column of [undefined, 'revision']) {
      const where = column === undefined ? 'beside the table' : 'in a column'
      test(`case 34: an older event changes nothing, the version ${where}, in batches of ${batch} (${world.name})`, async () => {
        const table = await itemTable()
        const feed = sidecar('feed', {
          ...stopsAtFailure,
          input: items,
          target: world.target(table, { isNoting: true }),
          key,
          columns,
          version: { by: 'timestamp', ...(column === undefined ? {} : { column }) },
          batch,
        })
        const log = [
          item('K1', { item: 'B' }, 200),
          item('K1', { item: 'A' }, 100),
          item('K2', { item: 'C' }, 300),
          item('K2', { item: 'D' }, 300),
          item('K2', null, 250),
          item('K3', { item: 'x' }, 300),
          item('K3', null, 400),
          item('K3', { item: 'old' }, 350),
        ]
        const expected = [
          ['K1', 'B', null, null],
          ['K2', 'D', null, null],
        ]
        for (let time = 0; time < 2; time += 1) {
          // A replay of all: the log is read again from its beginning.
          await using runtime = await testRuntime(feed)
          await runtime.send(...log)
          await runtime.settled()
          assert.deepEqual(await itemRows(table), expected)
        }
      })
    }

    test(`case 36: an absent field leaves its column alone, null clears it, in batches of ${batch} (${world.name})`, async () => {
      const table = await itemTable()
      const feed = sidecar('feed', {
        ...stopsAtFailure,
        input: items,
        target: world.target(table),
        key,
        columns,
        batch,
      })
      await using runtime = await testRuntime(feed)
      await runtime.send(
        item('a', { flavor: 'x' }),
        item('a', { item: 'y' }),
        item('b', { item: 'y' }),
        item('b', { flavor: 'x' }),
        item('c', { flavor: 'x', item: 'y' }),
        item('c', { flavor: null }),
      )
      await runtime.settled()
      assert.deepEqual(await itemRows(table), [
        ['a', 'y', 'x', null],
        ['b', 'y', 'x', null],
        ['c', 'y', null, null],
      ])
    })

    test(`case 42: a tombstone deletes its row, known or not, in batches of ${batch} (${world.name})`, async () => {
      const table = await itemTable()
      const feed = sidecar('feed', {
        ...stopsAtFailure,
        input: items,
        target: world.target(table),
        key,
        columns,
        batch,
      })
      await using runtime = await testRuntime(feed)
      await runtime.send(
        item('K1', { item: 'v1', flavor: 'sweet' }),
        item('K1', null),
        item('K1', null),
        item('K9', null),
        item('K2', { item: 'v1' }),
        item('K2', null),
        item('K1', { item: 'v2' }),
      )
      await runtime.settled()
      assert.deepEqual(await itemRows(table), [['K1', 'v2', null, null]])
    })
  }

  test(`case 36: a column that must not be null may be absent where the row is there (${world.name})`, async () => {
    const table = await world.create(
      `id ${types.shortText} not null primary key, item ${types.shortText} not null, flavor ${types.text}`,
    )
    const feed = sidecar('feed', {
      ...stopsAtFailure,
      input: items,
      target: world.target(table),
      key,
      columns: { item: 'item', flavor: 'flavor' },
    })
    await using runtime = await testRuntime(feed)
    await runtime.send(item('a', { item: 'y' }))
    await runtime.settled()
    await runtime.send(item('a', { flavor: 'x' }))
    await runtime.settled()
    assert.deepEqual(await world.rows(table, ['id', 'item', 'flavor']), [['a', 'y', 'x']])
    await runtime.send(item('b', { flavor: 'x' }))
    await assert.rejects(runtime.settled(), /item.*null|null.*item|item.*default/i)
  })

  test(`case 42: a record without key and value is passed over and counted (${world.name})`, async () => {
    const table = await itemTable()
    const keyless = topic('keyless', { key: nullable(text), value: nullable(json(Item)) })
    const feed = sidecar('feed', {
      ...stopsAtFailure,
      input: keyless,
      target: world.target(table),
      key: { id: (message) => message.key },
      columns,
    })
    await using runtime = await testRuntime(feed)
    await runtime.send(keyless.message({ key: null, value: null }))
    await runtime.settled()
    assert.equal(runtime.counts[0]?.own['empty'], 1)
    await runtime.send(keyless.message({ key: null, value: { item: 'x' } }))
    await assert.rejects(runtime.settled(), /a key.*none/)
  })

  test(`case 39: what cannot be stored becomes U+FFFD, all else stays (${world.name})`, async () => {
    const table = await world.create(
      `id ${types.shortText} not null primary key, plain ${types.text}, data ${types.json}`,
    )
    const texts = topic('texts', { key: text, value: json(z.object({ text: z.string() })) })
    const half = '\ud83d'
    const feed = sidecar('feed', {
      ...stopsAtFailure,
      input: texts,
      target: world.target(table),
      key: { id: ({ key, value }) => (key === 'in the key' ? `${value.text}${half}` : key) },
      columns: { plain: 'text', data: ({ value }) => ({ text: value.text, half }) },
    })
    await using runtime = await testRuntime(feed)
    await runtime.send(
      texts.message({ key: '1', value: { text: 'a\0b' } }),
      texts.message({ key: '2', value: { text: '😀' } }),
      texts.message({ key: '3', value: { text: String.raw`six: \u0000` } }),
      texts.message({ key: 'in the key', value: { text: '4\0' } }),
    )
    await runtime.settled()
    const rows = await world.rows(table, ['id', 'plain', 'data'])
    assert.deepEqual(
      rows.map(([id, plain, data]) => [id, plain, JSON.parse(data ?? '')]),
      [
        ['1', 'a\ufffdb', { text: 'a\ufffdb', half: '\ufffd' }],
        ['2', '😀', { text: '😀', half: '\ufffd' }],
        ['3', String.raw`six: \u0000`, { text: String.raw`six: \u0000`, half: '\ufffd' }],
        ['4\ufffd\ufffd', '4\ufffd', { text: '4\ufffd', half: '\ufffd' }],
      ],
    )
  })

  test(`case 44: one bad row of 500 stops its message alone, and names why (${world.name})`, async () => {
    const table = await itemTable()
    const feed = sidecar('feed', {
      ...stopsAtFailure,
      input: items,
      target: world.target(table),
      key,
      columns,
    })
    await using runtime = await testRuntime(feed)
    const log = Array.from({ length: 500 }, (_, index) =>
      index === 250
        ? item('K250', { n: -1 })
        : item(`K${index === 251 ? 250 : index}`, { item: `v${index}` }),
    )
    await runtime.send(...log)
    await assert.rejects(runtime.settled(), (error) => {
      assert.ok(PolluxError.is(error, 'POLLUX_HANDLER_FAILED'), String(error))
      assert.match(error.message, /items\/0\/250 .*SQLSTATE 23/)
      return true
    })
    const rows = await itemRows(table)
    assert.equal(rows.length, 500 - 1)
    // Behind the bad one, of its key: its own turn came, too.
    assert.deepEqual(
      rows.find(([id]) => id === 'K250'),
      ['K250', 'v251', null, null],
    )
  })

  test(`case 55: large and exact numbers, bytes and times stay what they are (${world.name})`, async () => {
    const table = await world.create(
      `id ${types.whole} not null primary key, price ${types.numeric}, total ${types.numeric}, code ${types.text}, bytes ${types.bytes}, at ${types.time}, doc ${types.json}`,
    )
    const exact = topic('exact', { value: text, key: text })
    const feed = sidecar('feed', {
      ...stopsAtFailure,
      input: exact,
      target: world.target(table),
      key: { id: ({ key }) => BigInt(key) },
      columns: {
        price: () => '0.1234567890123456789',
        total: ({ value }) => value,
        code: () => '007',
        bytes: () => Buffer.from([0, 255, 128, 92, 39]),
        at: () => new Date('2026-03-01T12:34:56.789Z'),
        doc: () => Buffer.from('{"big":9007199254740993,"a":1.10}'),
      },
    })
    await using runtime = await testRuntime(feed)
    await runtime.send(
      exact.message({ key: '9007199254740993', value: '1.10' }),
      exact.message({ key: '9007199254740992', value: '-12345678901.5' }),
    )
    await runtime.settled()
    const rows = await world.rows(table, ['id', 'price', 'total', 'code', 'bytes', 'at', 'doc'])
    assert.deepEqual(
      rows.map(([id, price, total]) => [id, Number(total), price]),
      [
        ['9007199254740992', -12345678901.5, '0.1234567890123456789'],
        ['9007199254740993', 1.1, '0.1234567890123456789'],
      ],
    )
    const [, , , code, bytes, at, doc] = rows[0] ?? []
    assert.deepEqual([code, bytes], ['007', '00ff805c27'])
    assert.match(at ?? '', /^2026-03-01 12:34:56\.789/)
    assert.match(doc ?? '', /9007199254740993.*1\.10/)
    await runtime.send(exact.message({ key: '1', value: '0.00000000000000000001' }))
    await assert.rejects(runtime.settled(), /at most 19 digits behind the point/)
  })

  test(`columns of several groups have versions of their own (${world.name})`, async () => {
    const table = await world.create(
      `id ${types.shortText} not null primary key, item ${types.text}, item_rev ${types.whole}, flavor ${types.text}, flavor_rev ${types.whole}`,
    )
    const names = topic('names', { key: text, value: json(Item), create: { partitions: 1 } })
    const flavors = topic('flavors', { key: text, value: json(Item), create: { partitions: 1 } })
    const of = ({ value }: { readonly value: ItemValue }): number | undefined => value?.revision
    const feed = sidecar('feed', {
      ...stopsAtFailure,
      input: [names, flavors],
      target: world.target(table),
      key,
      groups: [
        { columns: { item: 'item' }, version: { by: 'field', of, column: 'item_rev' } },
        { columns: { flavor: 'flavor' }, version: { by: 'field', of, column: 'flavor_rev' } },
      ],
    })
    await using runtime = await testRuntime(feed)
    const later = async (...messages: OutputMessage[]): Promise<void> => {
      await runtime.send(...messages)
      await runtime.settled()
    }
    await later(names.message({ key: 'a', value: { item: 'new', revision: 9 } }))
    await later(flavors.message({ key: 'a', value: { flavor: 'mild', revision: 1 } }))
    await later(
      names.message({ key: 'a', value: { item: 'old', revision: 8 } }),
      flavors.message({ key: 'a', value: { flavor: 'hot', revision: 2 } }),
      flavors.message({ key: 'a', value: { flavor: 'mild', revision: 1 } }),
    )
    assert.deepEqual(await world.rows(table, ['id', 'item', 'item_rev', 'flavor', 'flavor_rev']), [
      ['a', 'new', '9', 'hot', '2'],
    ])
  })

  test(`a table that does not fit is told at the start, all at once (${world.name})`, async () => {
    const table = await world.create(`id ${types.shortText} not null, item ${types.text}`)
    const feed = sidecar('feed', {
      ...stopsAtFailure,
      input: items,
      target: world.target(table),
      key,
      columns: { itme: 'item', flavor: 'flavor' },
    })
    await assert.rejects(testRuntime(feed), (error) => {
      assert.ok(PolluxError.is(error, 'POLLUX_TARGET_MISMATCH'), String(error))
      assert.match(error.message, /itme: .*did you mean item\?/)
      assert.match(error.message, /flavor: expected a column/)
      assert.match(error.message, /unique index on exactly \(id\)/)
      return true
    })
  })

  test(`names are quoted, whatever is in them (${world.name})`, async () => {
    const quote = world.quote
    const names = ['sel"ect', 'a`b', "x'); drop table y; --"] as const
    const table = await world.create(
      `id ${types.shortText} not null primary key, ${names.map((name) => `${quote(name)} ${types.text}`).join(', ')}`,
    )
    const feed = sidecar('feed', {
      ...stopsAtFailure,
      input: items,
      target: world.target(table),
      key,
      columns: Object.fromEntries(names.map((name) => [name, () => name])),
    })
    await using runtime = await testRuntime(feed)
    await runtime.send(item('a', {}))
    await runtime.settled()
    assert.deepEqual(await world.rows(table, ['id', ...names]), [['a', ...names]])
  })
}
