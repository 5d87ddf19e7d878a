import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  Breaker,
  type BreakerSettings,
  type Outcome,
  type Ticket,
} from '../../../src/patterns/delegate/breaker.ts'

const settings: BreakerSettings = {
  window: 10,
  threshold: 50,
  calls: 4,
  pause: 100,
  longestPause: 400,
  probes: 1,
}

function ticket(breaker: Breaker, now: number): Ticket {
  const admitted = breaker.admit(now)
  assert.ok(typeof admitted === 'object', `expected a ticket, found a wait of ${admitted}`)
  return admitted
}

/** A breaker that has just opened, at time 0. */
function opened(changes: Partial<BreakerSettings> = {}): Breaker {
  const breaker = new Breaker({ ...settings, ...changes })
  for (let call = 0; call < settings.calls; call += 1)
    breaker.record(ticket(breaker, 0), 'failure', 0)
  assert.ok(!breaker.isClosed)
  return breaker
}

test('case 51: twenty single failures spread over a thousand successes open nothing', () => {
  const breaker = new Breaker(settings)
  for (let call = 0; call < 1_020; call += 1)
    breaker.record(ticket(breaker, call), call % 51 === 50 ? 'failure' : 'success', call)
  assert.ok(breaker.isClosed)
})

test('it opens once enough of the last calls have failed, and not before there were enough', () => {
  const breaker = new Breaker(settings)
  for (let call = 0; call < 3; call += 1) breaker.record(ticket(breaker, 0), 'failure', 0)
  assert.ok(breaker.isClosed)
  breaker.record(ticket(breaker, 0), 'failure', 0)
  assert.ok(!breaker.isClosed)
  assert.equal(breaker.admit(40), 60)
})

test('after its pause one probe passes at a time; a good one closes it, a bad one opens it for twice as long', () => {
  const breaker = opened()
  const probe = ticket(breaker, 100)
  assert.ok(probe.isProbe)
  assert.equal(typeof breaker.admit(100), 'number')
  assert.equal(breaker.record(probe, 'failure', 110), false)
  assert.equal(breaker.admit(110), 200)
  breaker.record(ticket(breaker, 310), 'failure', 310)
  breaker.record(ticket(breaker, 710), 'failure', 710)
  assert.equal(breaker.admit(710), 400, 'no longer than the longest')
  assert.equal(breaker.record(ticket(breaker, 1_110), 'success', 1_110), true)
  assert.ok(breaker.isClosed)
  assert.ok(!ticket(breaker, 1_110).isProbe)
  for (let call = 0; call < 4; call += 1) breaker.record(ticket(breaker, 2_000), 'failure', 2_000)
  assert.equal(breaker.admit(2_000), 100, 'it begins with the short pause again')
})

test('a probe that comes to nothing makes room for the next one; several may be asked for', () => {
  const breaker = opened({ probes: 2 })
  breaker.record(ticket(breaker, 100), 'unknown', 100)
  breaker.record(ticket(breaker, 100), 'success', 100)
  assert.ok(!breaker.isClosed)
  breaker.record(ticket(breaker, 100), 'success', 100)
  assert.ok(breaker.isClosed)
})

test('calls from before it opened say nothing afterwards', () => {
  const breaker = new Breaker(settings)
  const early = Array.from({ length: 10 }, () => ticket(breaker, 0))
  for (const one of early.slice(0, 4)) breaker.record(one, 'failure', 0)
  for (const [index, one] of early.slice(4).entries())
    breaker.record(one, index === 0 ? 'success' : 'failure', 50)
  assert.ok(!breaker.isClosed)
  assert.equal(breaker.admit(50), 50)
})

test('whatever happens: closed all pass, open none does before its pause is over, and never two probes at once', () => {
  const steps = fc.array(
    fc.record({
      wait: fc.nat(300),
      finish: fc.option(fc.nat(20), { nil: undefined }),
      outcome: fc.constantFrom<Outcome>('success', 'failure', 'unknown'),
    }),
    { maxLength: 200 },
  )
  fc.assert(
    fc.property(steps, (list) => {
      const breaker = new Breaker(settings)
      let tickets: Ticket[] = []
      let closedBefore = true
      let now = 0
      let openedAt = 0
      for (const { wait, finish, outcome } of list) {
        now += wait
        const admitted = breaker.admit(now)
        if (breaker.isClosed) assert.ok(typeof admitted === 'object' && !admitted.isProbe)
        else if (typeof admitted === 'object') {
          assert.ok(admitted.isProbe && now >= openedAt + settings.pause)
          assert.ok(!tickets.some(({ isProbe, era }) => isProbe && era === admitted.era))
        } else assert.ok(admitted > 0 && admitted <= settings.longestPause)
        if (typeof admitted === 'object') tickets.push(admitted)
        const done = finish === undefined ? undefined : tickets[finish % tickets.length]
        if (done !== undefined) {
          tickets = tickets.filter((one) => one !== done)
          breaker.record(done, outcome, now)
        }
        if (closedBefore && !breaker.isClosed) openedAt = now
        closedBefore = breaker.isClosed
      }
      // A service that works from now on is used again.
      for (const one of tickets) breaker.record(one, 'unknown', now)
      now += settings.longestPause
      const last = breaker.admit(now)
      assert.ok(typeof last === 'object')
      breaker.record(last, 'success', now)
      assert.ok(breaker.isClosed || last.isProbe === false)
    }),
  )
})
