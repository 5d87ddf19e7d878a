import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as v from 'valibot'
import { z } from 'zod'
import { json, PolluxError } from '../../src/index.ts'

const anything = json(z.any())
const decode = (text: string, codec = anything) => codec.decode(Buffer.from(text))
const refusal = (found: RegExp) => (error: unknown) =>
  PolluxError.is(error, 'POLLUX_DECODE_FAILED') && found.test(error.message)

test('whatever JSON can hold comes back as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      assert.deepEqual(anything.decode(anything.encode(value)), JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('a number that a double would round is refused, with the place and what it would become', () => {
  assert.throws(
    () => decode('{"id":9007199254740993}'),
    refusal(/'id'.*9007199254740993.*9007199254740992/),
  )
  assert.throws(() => decode('{"price":0.1234567890123456789}'), refusal(/price/))
  assert.throws(() => decode('{"a":[1e400]}'), refusal(/1e400/))
  assert.throws(() => decode('{"a":1e-400}'), refusal(/1e-400/))
})

test('numbers that a double holds are taken in any notation', () => {
  const texts = [
    '9007199254740991',
    '1.10',
    '100000000000000000000',
    '1E3',
    '-0',
    '0.1',
    '123456789012345680000',
    '1.7976931348623157e308',
  ]
  for (const text of texts) assert.equal(decode(text), Number(text), text)
})

test('digits inside of texts are no numbers', () => {
  assert.deepEqual(decode('{"code":"12345678901234567890","x":"1e999"}'), {
    code: '12345678901234567890',
    x: '1e999',
  })
})

test('a decimal is refused exactly when its double stands for another decimal', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.nat(20), (digits, scale) => {
      const all = digits.toString().padStart(scale + 1, '0')
      const source = scale === 0 ? all : `${all.slice(0, -scale)}.${all.slice(-scale)}`
      // Exact decimals of both, as a fraction over the same power of ten.
      const shortest = Number(source).toString()
      const isSame = asFraction(shortest) === asFraction(source)
      if (isSame) assert.equal(decode(source), Number(source))
      else assert.throws(() => decode(source), refusal(/rounded/))
    }),
  )
})

function asFraction(decimal: string): bigint {
  const [mantissa = '', exponent = '0'] = decimal.split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(whole + fraction) * 10n ** BigInt(60 - fraction.length + Number(exponent))
}

test("numbers: 'double' rounds as JSON.parse does", () => {
  assert.equal(decode('9007199254740993', json(z.any(), { numbers: 'double' })), 9007199254740992)
})

test('bytes that are not UTF-8, not JSON, or empty are refused as such', () => {
  assert.throws(() => anything.decode(Buffer.from([0x22, 0xff, 0x22])), refusal(/not UTF-8/))
  assert.throws(() => decode('{"a":'), refusal(/not JSON/))
  assert.throws(() => decode(''), refusal(/empty value/))
})

test('U+FFFD itself is ordinary text', () => {
  assert.equal(decode('"\ufffd"'), '\ufffd')
})

test('what does not match the schema is refused with every issue and its path', () => {
  const codec = json(z.object({ a: z.number(), b: z.object({ c: z.string() }) }))
  assert.throws(() => decode('{"a":"1","b":{}}', codec as never), refusal(/a: .*; b\.c: /))
})

test('any Standard Schema will do, and its output is what a handler gets', () => {
  const codec = json(
    v.object({
      at: v.pipe(
        v.string(),
        v.transform((text) => text.length),
      ),
    }),
  )
  assert.deepEqual(codec.decode(Buffer.from('{"at":"four"}')), { at: 4 })
})

test('a schema that checks asynchronously gives a promise', async () => {
  const codec = json(z.string().refine(async (text) => text !== 'no'))
  assert.equal(await codec.decode(Buffer.from('"yes"')), 'yes')
  await assert.rejects(async () => codec.decode(Buffer.from('"no"')), refusal(/schema/))
})

test('a value that does not match its schema is not encoded', () => {
  const codec = json(z.object({ count: z.number() }))
  assert.throws(
    () => codec.encode({ count: '1' } as never),
    (error) => PolluxError.is(error, 'POLLUX_ENCODE_FAILED') && /count: /.test(error.message),
  )
  assert.equal(codec.encode({ count: 1 }).toString(), '{"count":1}')
})

test('values that JSON would falsify are not encoded', () => {
  for (const value of [Number.NaN, { a: [Number.POSITIVE_INFINITY] }, undefined, 1n, () => 1]) {
    assert.throws(
      () => anything.encode(value),
      (error) => PolluxError.is(error, 'POLLUX_ENCODE_FAILED'),
    )
  }
  assert.equal(anything.encode({ a: null, b: 'null' }).toString(), '{"a":null,"b":"null"}')
})
