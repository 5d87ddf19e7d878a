import assert from 'node:assert/strict'
import { test } from 'node:test'
import { delegate } from '../../../src/index.ts'
import type { RateLimiter } from '../../../src/ports/rate-limiter.ts'
import type { RateOptions } from '../../../src/rate.ts'
import { systemClock } from '../../../src/system-clock.ts'
import { testRuntime } from '../../../src/testing/index.ts'
import { ask, questions, realClock } from './scene.ts'

/** What holds for a rate limit that processes share. `limiter` makes one under a new name each time it is told one. */
export function sharedRateTests(limiter: (name: string, rate: RateOptions) => RateLimiter): void {
  const mark = `${process.pid}-${Date.now()}`

  test('a burst passes at once, the others wait for one interval each, whoever asks', async () => {
    const both = [1, 2].map(() => limiter(`burst-${mark}`, { calls: 1, per: '1m', burst: 2 }))
    const waits: number[] = []
    for (let call = 0; call < 4; call += 1)
      waits.push(Number(await both[call % 2]?.reserve(systemClock)))
    const [first, second, third = 0, fourth = 0] = waits
    assert.deepEqual([first, second], [0, 0])
    assert.ok(third > 50_000 && third <= 60_000, `${waits}`)
    assert.ok(fourth > 110_000 && fourth <= 120_000, `${waits}`)
  })

  test('turns that are asked for at the same moment are all different', async () => {
    const one = limiter(`many-${mark}`, { calls: 1, per: '1m' })
    const waits = await Promise.all(
      Array.from({ length: 20 }, async () => await one.reserve(systemClock)),
    )
    const turns = waits.map((wait) => Math.round(wait / 60_000))
    assert.deepEqual(
      turns.toSorted((a, b) => a - b),
      Array.from({ length: 20 }, (_, index) => index),
    )
  })

  test('what has another name is limited by itself', async () => {
    const names = [`one-${mark}`, `two-${mark}`]
    const waits = names.map(
      async (name) => await limiter(name, { calls: 1, per: '1m' }).reserve(systemClock),
    )
    assert.deepEqual(await Promise.all(waits), [0, 0])
  })

  test('two delegates that share a limit keep to it together', async () => {
    const times: number[] = []
    const calling = (name: string): ReturnType<typeof delegate> =>
      delegate(name, {
        input: questions,
        call: () => void times.push(performance.now()),
        rateLimit: limiter(`delegates-${mark}`, { calls: 20, per: '1s' }),
      })
    await using runtime = await testRuntime([calling('first'), calling('second')], {
      clock: realClock,
    })
    const start = performance.now()
    await runtime.send(...Array.from({ length: 8 }, (_, index) => ask(`${index}`)))
    await runtime.settled()
    assert.equal(times.length, 16)
    // Not from the first call: that may have been held up, and the last one not.
    const took = Math.max(...times) - start
    assert.ok(took >= 15 * 50 - 20, `${took} ms`)
  })
}
