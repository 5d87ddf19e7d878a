import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseHttpDate, parseRetryAfter } from '../../../src/patterns/delegate/retry-after.ts'

const now = Date.UTC(2026, 0, 31, 23, 59, 58)

test('case 50: Retry-After is whole seconds or an HTTP date; a past date is 0; anything else says nothing', () => {
  const known: readonly [string, number | undefined][] = [
    ['2', 2_000],
    [' 2 ', 2_000],
    ['0', 0],
    ['999999', 999_999_000],
    ['Sun, 01 Feb 2026 00:00:01 GMT', 3_000],
    ['Sunday, 01-Feb-26 00:00:01 GMT', 3_000],
    ['Sun Feb  1 00:00:01 2026', 3_000],
    ['Sat, 31 Jan 2026 12:00:00 GMT', 0],
    ['-5', undefined],
    ['2abc', undefined],
    ['1.5', undefined],
    ['2e3', undefined],
    ['', undefined],
    ['soon', undefined],
    ['2026-02-01T00:00:01Z', undefined],
    ['Sun, 00 Feb 2026 00:00:01 GMT', undefined],
    ['Sun, 01 Feb 2026 24:00:01 GMT', undefined],
    ['Sun, 01 Foo 2026 00:00:01 GMT', undefined],
  ]
  for (const [text, expected] of known) assert.equal(parseRetryAfter(text, now), expected, text)
})

test('any date that Node writes is read as Node means it', () => {
  const dates = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(
    fc.property(dates, (date) => {
      assert.equal(parseHttpDate(date.toUTCString()), Math.floor(date.getTime() / 1_000) * 1_000)
    }),
  )
})
