import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPosition } from '../../../src/cli/consume/parse-from.ts'
import { startPositions } from '../../../src/cli/consume/start-positions.ts'
import type { BrokerAdmin } from '../../../src/ports/broker.ts'

test('Each way to write a start position is read', () => {
  const read = startPosition.read
  assert.deepEqual(read('earliest'), { kind: 'earliest' })
  assert.deepEqual(read('latest'), { kind: 'latest' })
  assert.deepEqual(read('1200'), { kind: 'offset', offset: 1200 })
  assert.deepEqual(read('-10'), { kind: 'last', count: 10 })
  assert.deepEqual(read('-10m'), { kind: 'ago', ms: 600_000 })
  assert.deepEqual(read('@1764489600000'), { kind: 'time', timestamp: 1_764_489_600_000 })
  assert.deepEqual(read('2025-11-30T08:00:00Z'), { kind: 'time', timestamp: 1_764_489_600_000 })
  assert.deepEqual(read('2025-11-30T09:00+01:00'), { kind: 'time', timestamp: 1_764_489_600_000 })
})

test('Anything else is refused, an offset that would be rounded included', () => {
  for (const wrong of [
    '',
    'first',
    '1.5',
    '-',
    '-10x',
    '@',
    '2026-13-01',
    'Monday',
    '9007199254740993',
    '1e3',
  ]) {
    assert.equal(startPosition.read(wrong), undefined, wrong)
  }
})

const ranges = [
  { topic: 't', partition: 0, earliest: 5, latest: 20 },
  { topic: 't', partition: 1, earliest: 0, latest: 0 },
]
const admin = {
  offsetsAt: () => Promise.resolve([{ topic: 't', partition: 0, offset: 12 }]),
} as unknown as BrokerAdmin

test('Positions stay within what the log holds', async () => {
  const offsets = async (text: string): Promise<number[]> => {
    const from = startPosition.read(text)
    assert.ok(from !== undefined)
    return (await startPositions(admin, ranges, from, 1_000)).map(({ offset }) => offset)
  }
  assert.deepEqual(await offsets('earliest'), [5, 0])
  assert.deepEqual(await offsets('latest'), [20, 0])
  assert.deepEqual(await offsets('0'), [5, 0])
  assert.deepEqual(await offsets('7'), [7, 0])
  assert.deepEqual(await offsets('99'), [20, 0])
  assert.deepEqual(await offsets('-3'), [17, 0])
  assert.deepEqual(await offsets('-10m'), [12, 0])
})
