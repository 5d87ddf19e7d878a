import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PolluxError, type RetryableError } from '../../../src/index.ts'
import { Problems } from '../../../src/options.ts'
import { Barrier } from '../../../src/patterns/delegate/barrier.ts'
import { readDelegateOptions } from '../../../src/patterns/delegate/options.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { moving } from './scene.ts'

const settings = readDelegateOptions(
  { longestWait: '1m', breaker: { calls: 1, window: 1, pause: '10s' } },
  new Problems(),
)
const { signal } = new AbortController()

test('a hold is waited for; a longer one than longestWait gives up at once, and says how long it is', async () => {
  const clock = new ManualClock()
  const barrier = new Barrier(settings, clock)
  const start = clock.now()
  barrier.hold(30_000)
  barrier.hold(5_000)
  await moving({ clock }, barrier.enter(signal))
  assert.ok(clock.now() - start >= 30_000)
  barrier.hold(90_000)
  await assert.rejects(barrier.enter(signal), (error: RetryableError) => {
    assert.ok(PolluxError.is(error, 'POLLUX_RETRY_LATER'))
    return error.after === 90_000
  })
})

test('whoever waits for the breaker goes on as soon as a probe has closed it', async () => {
  const clock = new ManualClock()
  const barrier = new Barrier(settings, clock)
  barrier.leave(await barrier.enter(signal), 'failure')
  assert.equal(barrier.isClosed, false)
  const waiting = [1, 2, 3].map(() => barrier.enter(signal))
  const probe = await moving({ clock }, Promise.race(waiting))
  assert.equal(probe.isProbe, true)
  const before = clock.now()
  barrier.leave(probe, 'success')
  const tickets = await Promise.all(waiting)
  assert.equal(clock.now(), before)
  assert.equal(tickets.filter(({ isProbe }) => isProbe).length, 1)
})

test('without a breaker, only holds are waited for', async () => {
  const barrier = new Barrier({ ...settings, breaker: undefined }, new ManualClock())
  for (let call = 0; call < 100; call += 1) barrier.leave(await barrier.enter(signal), 'failure')
  assert.equal(barrier.isClosed, true)
})
