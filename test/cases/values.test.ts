import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import {
  bytes,
  type Codec,
  defineService,
  json,
  type Message,
  nullable,
  PolluxError,
  text,
  topic,
} from '../../src/index.ts'
import { testRuntime } from '../../src/testing/index.ts'
import type { AnyTopic } from '../../src/topic.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

interface Bytes {
  readonly key: string | null
  readonly value: string | null
}

/** What a service sees of raw records, and what it writes when it passes them on. */
async function passOn<K, V>(key: Codec<K>, value: Codec<V>, records: readonly Bytes[]) {
  const input = topic('input', { key, value, create: { partitions: 1 } })
  const output = topic('output', { key, value, create: { partitions: 1 } })
  const seen: { key: unknown; value: unknown; tombstone: boolean }[] = []
  const service = defineService('passing', {
    ...stopsAtFailure,
    inputs: [input as AnyTopic],
    outputs: [output as AnyTopic],
    handle: (given: never) => {
      const message: Message = given
      seen.push({ key: message.key, value: message.value, tombstone: message.tombstone })
      return output.message({ key: message.key as K, value: message.value as V })
    },
  })
  const broker = embeddedBroker()
  const runtime = await testRuntime(service, { broker })
  const producer = await broker.producer()
  const raw = (given: string | null): Buffer | null => (given === null ? null : Buffer.from(given))
  for (const record of records) {
    await producer.send([
      {
        topic: 'input',
        partition: 0,
        key: raw(record.key),
        value: raw(record.value),
        headers: [],
        timestamp: undefined,
      },
    ])
  }
  let error: unknown
  const written: Bytes[] = []
  try {
    await runtime.settled()
    for (const { raw: out } of await runtime.messages(output)) {
      written.push({ key: out.key?.toString() ?? null, value: out.value?.toString() ?? null })
    }
  } catch (cause) {
    error = cause
  }
  await runtime.stop().catch(() => {})
  return { seen, written, error }
}

const tombstones: readonly Bytes[] = [
  { key: 'a', value: null },
  { key: 'b', value: '' },
  { key: 'c', value: 'null' },
  { key: null, value: 'x' },
  { key: null, value: null },
  { key: '', value: '' },
]

test('case 53: null, empty and the text null are three things, for keys and values, and stay so', async () => {
  for (const codec of [nullable(text), nullable(bytes as unknown as Codec<string>)]) {
    const { seen, written, error } = await passOn(codec, codec, tombstones)
    assert.equal(error, undefined)
    assert.deepEqual(
      seen.map(({ key, value, tombstone }) => [
        key === null ? null : `${key}`,
        value === null ? null : `${value}`,
        tombstone,
      ]),
      tombstones.map(({ key, value }) => [key, value, value === null]),
    )
    assert.deepEqual(written, tombstones)
  }
})

test('case 53: the JSON text null is a value, a tombstone is not', async () => {
  const codec = nullable(json(z.object({ n: z.number() }).nullable()))
  const { seen, written } = await passOn(nullable(text), codec, [
    { key: 'a', value: 'null' },
    { key: 'a', value: '{"n":1}' },
    { key: 'a', value: null },
  ])
  assert.deepEqual(
    seen.map(({ value, tombstone }) => [value, tombstone]),
    [
      [null, false],
      [{ n: 1 }, false],
      [null, true],
    ],
  )
  assert.equal(written[1]?.value, '{"n":1}')
  assert.equal(written[2]?.value, null, 'a tombstone is passed on as one')
})

test('case 53: where the topic does not expect it, null and empty are refused and say what to do', async () => {
  const object = json(z.object({ n: z.number() }))
  const refusals: readonly (readonly [Codec<never>, Codec<never>, Bytes, RegExp])[] = [
    [text, text, { key: 'a', value: null }, /value of input\/0\/0 is null.*nullable\(text\)/],
    [text, object, { key: 'a', value: null }, /value of input\/0\/0 is null.*nullable\(json\)/],
    [
      text,
      object,
      { key: 'a', value: '' },
      /value of input\/0\/0 cannot be decoded: The bytes are not JSON\. Found an empty value/,
    ],
    [
      text,
      object,
      { key: 'a', value: 'null' },
      /value of input\/0\/0 cannot be decoded: .* Look at it: pollux consume input --partition 0 --from 0 --limit 1$/,
    ],
    [text, text, { key: null, value: 'x' }, /key of input\/0\/0 is null.*nullable\(text\)/],
    [nullable(text), nullable(object), { key: 'a', value: '' }, /empty value/],
  ] as unknown as readonly (readonly [Codec<never>, Codec<never>, Bytes, RegExp])[]
  for (const [key, value, record, expected] of refusals) {
    const { error, seen } = await passOn(key, value, [record])
    assert.ok(PolluxError.is(error, 'POLLUX_DECODE_FAILED'), String(error))
    assert.match(error.message, expected)
    assert.equal(seen.length, 0, 'the handler never sees it')
  }
})

test('case 53: undefined is not a tombstone: an output with it is refused', async () => {
  const output = topic('output', { key: text, value: nullable(text) })
  for (const fields of [
    { key: 'a', value: undefined },
    { key: undefined, value: 'x' },
    { key: null, value: 'x' },
  ]) {
    assert.throws(
      () => encodeRecord(output.message(fields as never)),
      (error) => PolluxError.is(error, 'POLLUX_ENCODE_FAILED'),
    )
  }
  assert.equal(encodeRecord(output.message({ key: 'a', value: null })).value, null)
})

test('case 53: state can be a tombstone of its own: null, absent and empty', async () => {
  const input = topic('input', { key: text, value: nullable(text), create: { partitions: 1 } })
  const seen: unknown[] = []
  const service = defineService('keeping', {
    ...stopsAtFailure,
    inputs: [input],
    state: text,
    async handle({ value }, { state }) {
      seen.push(await state.get())
      if (value === null) await state.delete()
      else await state.put(value)
    },
  })
  await using runtime = await testRuntime(service)
  await runtime.send(...['', 'null', null, 'x'].map((value) => input.message({ key: 'a', value })))
  await runtime.settled()
  assert.deepEqual(seen, [undefined, '', 'null', undefined])
  assert.equal(await runtime.state(service, 'a'), 'x')
})

const exact =
  '{"id":9007199254740993,"price":0.1234567890123456789,"total":1.10,"code":"007","neg":-0}'

test('case 55: bytes and text pass through unchanged, whatever numbers are in them', async () => {
  for (const codec of [bytes as unknown as Codec<string>, text]) {
    const { written } = await passOn(codec, codec, [{ key: exact, value: exact }])
    assert.deepEqual(written, [{ key: exact, value: exact }])
  }
})

test('case 55: json refuses a number that would be rounded, naming it, and takes the others', async () => {
  const anything = json(z.record(z.string(), z.unknown()))
  const refused = [
    '9007199254740993',
    '-9007199254740993',
    '0.1234567890123456789',
    '1e400',
    '123456789012345678901234567890',
    '1e-400',
  ]
  for (const number of refused) {
    const { error, seen } = await passOn(text, anything, [
      { key: 'a', value: `{"deep":[{"id":${number}}]}` },
    ])
    assert.ok(PolluxError.is(error, 'POLLUX_DECODE_FAILED'), number)
    assert.match(error.message, /'id' would be rounded/)
    assert.match(error.message, /numbers: 'double'/)
    assert.equal(seen.length, 0)
  }
  const taken = [
    '9007199254740991',
    '9007199254740992',
    '0.1',
    '1.10',
    '-0',
    '1e3',
    '0.30000000000000004',
    '1E+2',
    '100000000000000000000',
  ]
  for (const number of taken) {
    const { error, seen } = await passOn(text, anything, [{ key: 'a', value: `{"id":${number}}` }])
    assert.equal(error, undefined, number)
    assert.deepEqual(seen[0]?.value, { id: Number(number) })
  }
})

test('case 55: ids in text keep their zeros, and two ids never become one', async () => {
  const codec = json(z.object({ code: z.string() }))
  const { written } = await passOn(text, codec, [{ key: '007', value: '{"code":"007"}' }])
  assert.deepEqual(written, [{ key: '007', value: '{"code":"007"}' }])
  const keys = json(z.number())
  for (const id of ['9007199254740992', '9007199254740993']) {
    const { seen, error } = await passOn(keys, text, [{ key: id, value: 'x' }])
    if (id.endsWith('2')) assert.equal(seen[0]?.key, 9007199254740992)
    else assert.ok(PolluxError.is(error, 'POLLUX_DECODE_FAILED'))
  }
})

test("case 55: numbers: 'double' rounds, as asked for", async () => {
  const codec = json(z.object({ id: z.number(), price: z.number() }), { numbers: 'double' })
  const { seen, error } = await passOn(text, codec, [
    { key: 'a', value: '{"id":9007199254740993,"price":0.1234567890123456789}' },
  ])
  assert.equal(error, undefined)
  assert.deepEqual(seen[0]?.value, { id: 9007199254740992, price: 0.12345678901234568 })
})

test('case 55: json never writes what it cannot read back: NaN, infinity, bigint', () => {
  const output = topic('output', { key: text, value: json(z.any()) })
  for (const value of [Number.NaN, { deep: [Number.POSITIVE_INFINITY] }, 1n, undefined]) {
    assert.throws(
      () => encodeRecord(output.message({ key: 'a', value })),
      (error) => PolluxError.is(error, 'POLLUX_ENCODE_FAILED'),
    )
  }
})
