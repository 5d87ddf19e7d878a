import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationText, milliseconds } from '../src/duration.ts'
import { PolluxError } from '../src/index.ts'

test('a duration is milliseconds, or a number with a unit', () => {
  assert.deepEqual(
    ([0, 15, '200ms', '30s', '1.5s', '5m', '2h', '7d'] as const).map(milliseconds),
    [0, 15, 200, 30_000, 1_500, 300_000, 7_200_000, 604_800_000],
  )
})

test('everything else is refused, with what was found', () => {
  for (const wrong of [
    '10 seconds',
    '10',
    '',
    's',
    '-1s',
    '1e3s',
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    {},
    1n,
  ]) {
    assert.throws(
      () => milliseconds(wrong as never),
      (error) => PolluxError.is(error, 'POLLUX_DURATION_INVALID'),
      String(wrong),
    )
  }
})

test('a duration is written with the unit that needs no fraction', () => {
  const written = [0, 15, 1_000, 1_500, 90_000, 300_000, 7_200_000, 604_800_000].map(durationText)
  assert.deepEqual(written, ['0ms', '15ms', '1s', '1500ms', '90s', '5m', '2h', '7d'])
})
