import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { decodeHeaders, encodeHeaders } from '../src/header-bytes.ts'

const header = fc.record({
  name: fc.string({ unit: 'grapheme', maxLength: 20 }),
  value: fc.option(fc.uint8Array({ maxLength: 40 })),
})

it('headers come back as they were encoded', () => {
  fc.assert(
    fc.property(fc.array(header, { maxLength: 6 }), (headers) => {
      const back = decodeHeaders(encodeHeaders(headers))
      assert.deepEqual(
        back.map(({ name, value }) => [name, value === null ? null : [...value]]),
        headers.map(({ name, value }) => [name, value === null ? null : [...value]]),
      )
    }),
  )
})

it('no headers take no bytes', () => {
  assert.equal(encodeHeaders([]), null)
})

it('bytes that are cut off are an error, not fewer headers', () => {
  const whole = encodeHeaders([{ name: 'id', value: Buffer.from('abc') }]) as Buffer
  for (let length = 1; length < whole.length; length += 1) {
    assert.throws(() => decodeHeaders(whole.subarray(0, length)), RangeError)
  }
})
