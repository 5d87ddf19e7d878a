import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytes, nullable, PolluxError, text } from '../../src/index.ts'

const encodeFailed = (error: unknown) => PolluxError.is(error, 'POLLUX_ENCODE_FAILED')

test('well-formed text comes back as it was', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      assert.equal(text.decode(text.encode(value)), value)
    }),
  )
})

test('any bytes that are not UTF-8 are refused, all others are taken', () => {
  const isUtf8 = (bytes: Uint8Array): boolean => {
    try {
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
      return true
    } catch {
      return false
    }
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 8 }), (raw) => {
      if (isUtf8(raw)) assert.ok(text.encode(text.decode(Buffer.from(raw)) as string).equals(raw))
      else
        assert.throws(
          () => text.decode(Buffer.from(raw)),
          (error) => PolluxError.is(error, 'POLLUX_DECODE_FAILED'),
        )
    }),
  )
})

test('a lone surrogate, which would be sent as something else, is refused', () => {
  assert.throws(() => text.encode('\ud83d'), encodeFailed)
  assert.equal(text.encode('\ud83d\ude00').length, 4)
  assert.throws(() => text.encode(7 as never), encodeFailed)
})

test('bytes pass as they are', () => {
  const given = new Uint8Array([0, 255, 1]).subarray(1)
  assert.deepEqual([...bytes.encode(given)], [255, 1])
  assert.throws(() => bytes.encode('text' as never), encodeFailed)
})

test('nullable keeps null and empty apart', () => {
  const codec = nullable(text)
  assert.equal(codec.nullable, true)
  assert.equal(codec.decode(Buffer.alloc(0)), '')
  assert.equal(codec.encode('').length, 0)
})
