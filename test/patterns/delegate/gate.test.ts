import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PolluxError, type RetryableError } from '../../../src/index.ts'
import { Problems } from '../../../src/options.ts'
import { Gate } from '../../../src/patterns/delegate/gate.ts'
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
  const gate = new Gate(settings, clock)
  const start = clock.now()
  gate.hold(30_000)
  gate.hold(5_000)
  await moving({ clock }, gate.enter(signal))
  assert.ok(clock.now() - start >= 30_000)
  gate.hold(90_000)
  await assert.rejects(gate.enter(signal), (error: RetryableError) => {
    assert.ok(PolluxError.is(error, 'POLLUX_RETRY_LATER'))
    return error.after === 90_000
  })
})

test('whoever waits for the breaker goes on as soon as a probe has closed it', async () => {
  const clock = new ManualClock()
  const gate = new Gate(settings, clock)
  gate.leave(await gate.enter(signal), 'failure')
  assert.equal(gate.isClosed, false)
  const waiting = [1, 2, 3].map(() => gate.enter(signal))
  const probe = await moving({ clock }, Promise.race(waiting))
  assert.equal(probe.isProbe, true)
  const before = clock.now()
  gate.leave(probe, 'success')
  const tickets = await Promise.all(waiting)
  assert.equal(clock.now(), before)
  assert.equal(tickets.filter(({ isProbe }) => isProbe).length, 1)
})

test('without a breaker, only holds are waited for', async () => {
  const gate = new Gate({ ...settings, breaker: undefined }, new ManualClock())
  for (let call = 0; call < 100; call += 1) gate.leave(await gate.enter(signal), 'failure')
  assert.equal(gate.isClosed, true)
})
