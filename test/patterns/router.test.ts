import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import {
  bytes,
  type Codec,
  json,
  nullable,
  PolluxError,
  router,
  text,
  topic,
} from '../../src/index.ts'
import type { OutgoingRecord } from '../../src/ports/broker.ts'
import { keyPartitions } from '../../src/testing/broker-contract/key-partitions.ts'
import { testRuntime } from '../../src/testing/index.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { read, write } from './records.ts'

const Order = z.object({ total: z.number() })
const orders = topic('orders', { key: nullable(text), value: nullable(json(Order)) })
const large = topic('large', { key: nullable(text), value: nullable(json(Order)) })
const small = topic('small', { key: nullable(text), value: nullable(json(Order)) })
const rest = topic('rest', { value: nullable(bytes) })

const order = (total: number): Buffer => Buffer.from(JSON.stringify({ total }))

/** Decodes nothing: whoever asks it to has failed. */
const untouched: Codec<string> = {
  name: 'untouched',
  nullable: false,
  decode: () => assert.fail('it was decoded'),
  encode: () => assert.fail('it was encoded'),
}

/** A header of this name and text. */
const header = (name: string, value: string): { name: string; value: Buffer } => ({
  name,
  value: Buffer.from(value),
})

async function routed(
  service: Parameters<typeof testRuntime>[0],
  ...records: readonly Partial<OutgoingRecord>[]
): Promise<{
  of(topic: { name: string }): Promise<(string | null)[]>
  raw: (topic: { name: string }) => ReturnType<typeof read>
  own: Readonly<Record<string, number>> | undefined
}> {
  await using runtime = await testRuntime(service)
  await write(runtime.broker, 'orders', ...records)
  await runtime.settled()
  const topics = (await runtime.broker.admin.topics()).map(({ name }) => name)
  const kept = new Map(
    await Promise.all(
      topics.map(async (name) => [name, await read(runtime.broker, name)] as const),
    ),
  )
  const raw = async ({ name }: { name: string }): ReturnType<typeof read> => kept.get(name) ?? []
  return {
    raw,
    of: async (one) => (await raw(one)).map(({ value }) => value?.toString() ?? null),
    own: runtime.counts[0]?.own,
  }
}

const bySize = router('by-size', {
  ...stopsAtFailure,
  input: orders,
  routes: [
    { when: { value: (value) => (value?.total ?? 0) >= 1_000 }, to: large },
    { when: { value: (value) => value !== null }, to: small },
  ],
  otherwise: rest,
})

test('the first route that holds wins; what none takes goes to the topic for the rest', async () => {
  const { of } = await routed(
    bySize,
    { value: order(5_000) },
    { value: order(5) },
    { value: null, key: Buffer.from('gone') },
  )
  assert.deepEqual(await of(large), ['{"total":5000}'])
  assert.deepEqual(await of(small), ['{"total":5}'])
  assert.deepEqual(await of(rest), [null])
})

test('key, value, headers and timestamp pass byte for byte: repeated and null headers, spaces and digits of JSON', async () => {
  const value = Buffer.from('{ "total" : 1.0e3, "id": 9007199254740993 }')
  const headers = [
    header('id', 'mine'),
    header('tag', 'a'),
    header('other', 'x'),
    header('tag', 'b'),
    { name: 'none', value: null },
    { name: 'binary', value: Buffer.from([0, 255, 128]) },
  ]
  const byHeaders = router('by-headers', {
    ...stopsAtFailure,
    input: topic('orders', { key: untouched, value: untouched }),
    routes: [{ when: { headers: (all) => all.get('tag') === 'b' }, to: rest }],
    otherwise: 'dead-letter',
  })
  const key = Buffer.from([0xc3, 0x28, 0])
  const { raw } = await routed(byHeaders, { key, value, headers, timestamp: 1_700_000_000_000 })
  const [record] = await raw(rest)
  assert.deepEqual(record?.key, key)
  assert.deepEqual(record?.value, value)
  assert.deepEqual(
    record?.headers.map((one) => [one.name, one.value && Buffer.from(one.value)]),
    headers.map((one) => [one.name, one.value]),
  )
  assert.equal(record?.timestamp, 1_700_000_000_000)
})

test('a message without an id is given one, and nothing else', async () => {
  const { raw } = await routed(bySize, { value: order(1), headers: [header('a', 'b')] })
  const [record] = await raw(small)
  assert.deepEqual(
    record?.headers.map(({ name }) => name),
    ['a', 'id'],
  )
  assert.match(String(record?.headers[1]?.value), /^by-size:orders~/)
})

test('case 53: null, empty and the text null are told apart, and a tombstone passes without being decoded', async () => {
  const byKey = router('by-key', {
    ...stopsAtFailure,
    input: topic('orders', { key: nullable(text), value: untouched }),
    routes: [{ when: { key: (key) => key === 'a' }, to: rest }],
    otherwise: 'drop',
  })
  const key = Buffer.from('a')
  const values = [null, Buffer.alloc(0), Buffer.from('null')]
  const { raw, own } = await routed(byKey, ...values.map((value) => ({ key, value })), {
    key: null,
    value: null,
  })
  assert.deepEqual(
    (await raw(rest)).map(({ value }) => value),
    values,
  )
  assert.deepEqual(own, { dropped: 1 })
})

test('the value is decoded only where headers and key hold', async () => {
  let decoded = 0
  const counting: Codec<string> = {
    ...text,
    decode(value) {
      decoded += 1
      return text.decode(value)
    },
  }
  const careful = router('careful', {
    ...stopsAtFailure,
    input: topic('orders', { key: text, value: counting }),
    routes: [
      {
        when: {
          headers: (headers) => headers.get('kind') === 'order',
          key: (key) => key === 'a',
          value: (value) => value === 'yes',
        },
        to: rest,
      },
    ],
    otherwise: 'drop',
  })
  const kind = [header('kind', 'order')]
  const { of, own } = await routed(
    careful,
    { key: Buffer.from('a'), value: Buffer.from('yes') },
    { key: Buffer.from('b'), value: Buffer.from('yes'), headers: kind },
    { key: Buffer.from('a'), value: Buffer.from('no'), headers: kind },
    { key: Buffer.from('a'), value: Buffer.from('yes'), headers: kind },
  )
  assert.deepEqual(await of(rest), ['yes'])
  assert.equal(decoded, 2)
  assert.deepEqual(own, { dropped: 3 })
})

test('codecs that decode asynchronously decide as well, in the order of the routes', async () => {
  const slow: Codec<string> = { ...text, decode: async (value) => value.toString() }
  const [first, second] = [topic('first', { value: bytes }), topic('second', { value: bytes })]
  const patient = router('patient', {
    ...stopsAtFailure,
    input: topic('orders', { key: slow, value: slow }),
    routes: [
      { when: { key: (key) => key === 'a', value: (value) => value === '1' }, to: first },
      { when: { key: (key) => key === 'a' }, to: second },
    ],
    otherwise: rest,
  })
  const { of } = await routed(
    patient,
    { key: Buffer.from('a'), value: Buffer.from('1') },
    { key: Buffer.from('a'), value: Buffer.from('2') },
    { key: Buffer.from('b'), value: Buffer.from('1') },
  )
  assert.deepEqual([await of(first), await of(second), await of(rest)], [['1'], ['2'], ['1']])
})

test('a value that cannot be decoded, and a message that no route takes, are refused for good', async () => {
  const strict = router('strict', {
    ...stopsAtFailure,
    input: topic('orders', { key: nullable(text), value: json(Order) }),
    routes: [{ when: { value: ({ total }) => total > 5 }, to: rest }],
    otherwise: 'dead-letter',
  })
  const refusals: readonly [Buffer | null, RegExp][] = [
    [Buffer.from('{'), /orders\S*\/0 failed: The value cannot be decoded: The bytes are not JSON/],
    [null, /The value cannot be decoded: it is null, and json is not nullable/],
    [order(1), /No route takes the message/],
  ]
  for (const [value, said] of refusals) {
    await assert.rejects(routed(strict, { value }), (error: PolluxError) => {
      assert.match(error.message, said)
      return PolluxError.is(error.cause, 'POLLUX_NOT_RETRYABLE')
    })
  }
})

test('case 49: a routed key goes to the partition that Java’s default partitioner chooses', async () => {
  const table = keyPartitions.filter(({ partitions }) => '12' in partitions)
  assert.ok(table.length > 3)
  const spread = topic('spread', { value: nullable(bytes), create: { partitions: 12 } })
  const all = router('all', {
    ...stopsAtFailure,
    input: topic('orders', { value: nullable(bytes), create: { partitions: 1 } }),
    routes: [{ when: { headers: () => true }, to: spread }],
    otherwise: 'drop',
  })
  const { raw } = await routed(all, ...table.map(({ key }) => ({ key })))
  const found = new Map(
    (await raw(spread)).map(({ key, partition }) => [key?.toString('hex'), partition]),
  )
  for (const { key, partitions } of table)
    assert.equal(found.get(key.toString('hex')), (partitions as Record<string, number>)['12'])
})

test('everything that is wrong with a router is said at once', () => {
  assert.throws(
    () =>
      router('wrong', {
        ...stopsAtFailure,
        input: orders,
        routes: [
          { when: {}, to: large },
          { when: { body: () => true }, to: orders },
          { when: { key: true }, to: 'large' },
        ],
        otherwise: 'forget',
      } as never),
    (error: PolluxError) => {
      assert.equal(error.code, 'POLLUX_OPTION_INVALID')
      for (const said of [
        /routes\[0\]\.when: expected functions under headers, key or value, found none/,
        /routes\[1\]\.when: .*found body: a value of type function/,
        /routes\[1\]\.to: expected another topic than the input/,
        /routes\[2\]\.when: .*found key: true \(boolean\)/,
        /routes\[2\]\.to: expected a topic made by topic\(\), found 'large'/,
        /otherwise: expected a topic made by topic\(\), 'drop' or 'dead-letter', found 'forget'/,
      ])
        assert.match(error.message, said)
      return true
    },
  )
  const noRoutes = { input: orders, routes: [], otherwise: 'drop' } as const
  assert.throws(() => router('none', noRoutes as never), /at least one/)
  assert.throws(() => router('none', undefined as never), /router\(\) needs its options/)
  assert.throws(
    () => router('unknown', { ...(noRoutes as any), routes: bySizeRoutes, retries: 3 }),
    /retries: unknown option/,
  )
})

const bySizeRoutes = [{ when: { key: () => true }, to: large }]
