import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { awaitTurn } from '../../../src/patterns/delegate/allowance.ts'
import { tokenBucket } from '../../../src/patterns/delegate/token-bucket.ts'
import { silent } from '../../../src/ports/logger.ts'
import { eventually, ManualClock } from '../../../src/testing/index.ts'
import { moving } from './scene.ts'

test('a burst passes at once, the others wait for one interval each, in order', () => {
  const clock = new ManualClock()
  const bucket = tokenBucket({ calls: 10, per: 1_000, burst: 3 })
  const waits = Array.from({ length: 6 }, () => bucket.reserve(clock))
  assert.deepEqual(waits, [0, 0, 0, 100, 200, 300])
})

test('after a time of rest no more than a burst passes at once', async () => {
  const clock = new ManualClock()
  const bucket = tokenBucket({ calls: 10, per: 1_000, burst: 2 })
  for (let call = 0; call < 2; call += 1) bucket.reserve(clock)
  await clock.advance(3_600_000)
  assert.deepEqual(
    Array.from({ length: 4 }, () => bucket.reserve(clock)),
    [0, 0, 100, 200],
  )
})

test('in no span of time more calls start than the span’s share and one burst, however they come', async () => {
  const rates = fc.record({
    calls: fc.integer({ min: 1, max: 50 }),
    per: fc.integer({ min: 1, max: 5_000 }),
    burst: fc.integer({ min: 1, max: 20 }),
  })
  await fc.assert(
    fc.asyncProperty(rates, fc.array(fc.nat(2_000), { maxLength: 60 }), async (rate, gaps) => {
      const clock = new ManualClock()
      const bucket = tokenBucket(rate)
      const starts: number[] = []
      for (const gap of gaps) {
        await clock.advance(gap)
        starts.push(clock.now() + bucket.reserve(clock))
      }
      assert.deepEqual(
        starts,
        starts.toSorted((a, b) => a - b),
      )
      for (const [index, from] of starts.entries()) {
        for (const [more, to] of starts.slice(index).entries())
          assert.ok(more + 1 <= rate.burst + ((to - from) * rate.calls) / rate.per + 0.01)
      }
    }),
    { numRuns: 50 },
  )
})

test('a limiter that cannot be asked is asked again; a stop ends the wait for a turn', async () => {
  const clock = new ManualClock()
  let asked = 0
  const limiter = {
    reserve: async () => {
      asked += 1
      if (asked === 1) throw new Error('away')
      return 3_600_000
    },
  }
  const stop = new AbortController()
  const turn = awaitTurn(limiter, { clock, log: silent, stopping: stop.signal })
  await eventually('it is asked', () => asked === 1)
  await moving(
    { clock },
    eventually('it is asked again', () => asked === 2),
  )
  stop.abort()
  await turn
})
