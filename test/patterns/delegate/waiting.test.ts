import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../../src/embedded/index.ts'
import { delegate, PolluxError, type RetryableError } from '../../../src/index.ts'
import { eventually, ManualClock, testRuntime } from '../../../src/testing/index.ts'
import { stopsAtFailure } from '../../stops-at-failure.ts'
import { answering, answersTo, ask, moving, status, stumbling, versions } from './scene.ts'

test('case 50: no call is made earlier than asked for; overload uses up no attempts, and those that wait come back one by one', async () => {
  const clock = new ManualClock()
  const start = clock.now()
  const second: number[] = []
  const service = answering(
    (question, { attempt }) => {
      if (attempt === 2) second.push(clock.now() - start)
      if (attempt <= 4) throw status(429, attempt === 1 ? 2_000 : undefined)
      return question
    },
    { attempts: 1 },
  )
  const keys = Array.from({ length: 20 }, (_, index) => ask(`key-${index}`))
  const { values, own } = await answersTo(service, keys, { clock })
  assert.equal(values.length, 20)
  assert.equal(own['overloads'], 80)
  assert.ok(
    second.every((time) => time >= 2_000),
    `${second}`,
  )
  assert.ok(new Set(second).size > 5, `${second}`)
})

test('case 50: while one was asked to wait, no other is called either', async () => {
  const clock = new ManualClock()
  const start = clock.now()
  const calls: [string, number][] = []
  const service = answering(
    (question, { attempt }) => {
      calls.push([question, clock.now() - start])
      if (question === 'first' && attempt === 1) throw status(429, 5_000)
      return question
    },
    { concurrency: 2 },
  )
  await answersTo(service, [ask('first'), ask('beside'), ask('later'), ask('last')], { clock })
  assert.deepEqual(
    calls.slice(0, 2).map(([question]) => question),
    ['first', 'beside'],
  )
  assert.ok(
    calls.slice(2).every(([, time]) => time >= 5_000),
    JSON.stringify(calls),
  )
})

test('case 50: a wait that is asked for beyond longestWait gives the message up, and says for how long', async () => {
  const service = answering(stumbling(status(429, 999_999_000)))
  await assert.rejects(answersTo(service, [ask('a')]), ({ cause }: PolluxError) => {
    assert.ok(PolluxError.is(cause, 'POLLUX_RETRY_LATER'))
    assert.equal((cause as RetryableError).after, 999_999_000)
    return true
  })
})

test('an after that is no number of milliseconds says nothing', async () => {
  for (const after of [Number.NaN, -5]) {
    const clock = new ManualClock()
    const start = clock.now()
    const times: number[] = []
    const call = stumbling(status(429, after))
    const service = answering((question) => {
      times.push(clock.now() - start)
      return call(question)
    })
    await answersTo(service, [ask('a')], { clock })
    assert.ok((times[1] ?? 0) <= 200, `${times}`)
  }
})

test('an outage of the called service is waited for: the breaker opens, and no attempt is lost to it', async () => {
  const clock = new ManualClock()
  const end = clock.now() + 600_000
  let during = 0
  const service = answering(
    (question) => {
      if (clock.now() >= end) return question
      during += 1
      throw status(500)
    },
    { attempts: 2, breaker: { calls: 5, window: 5, pause: '1s', longestPause: '30s' } },
  )
  const questions = Array.from({ length: 40 }, (_, index) => ask(`key-${index}`))
  const { values, own, took } = await answersTo(service, questions, { clock })
  assert.equal(values.length, 40)
  assert.ok(during < 100, `${during} calls in ten minutes`)
  assert.ok(took < 700_000, 'it is used again when it is back')
  assert.ok((own['opened'] ?? 0) >= 1)
})

test('without a breaker, failures count against their messages alone', async () => {
  const service = answering(
    () => {
      throw status(500)
    },
    { attempts: 20, breaker: false },
  )
  await assert.rejects(answersTo(service, [ask('a')]), /failed 20 times/)
})

const never = new Promise<number>(() => {})

for (const [what, error, options] of [
  ['for what it was asked to wait', status(429, 600_000), {}],
  ['for its next try', status(500), { backoff: { base: '10m', max: '10m' } }],
  [
    'for the breaker',
    status(500),
    { breaker: { calls: 1, window: 1, pause: '10m', longestPause: '1h' } },
  ],
  ['for its turn', undefined, { rateLimit: { reserve: () => 600_000 } }],
  ['for an answer about its turn', undefined, { rateLimit: { reserve: () => never } }],
] as const) {
  test(`cases 50, 58: a stop ends a wait ${what} at once, and the message is delivered again`, async () => {
    let calls = 0
    const service = answering(() => {
      calls += 1
      throw error
    }, options)
    const runtime = await testRuntime(service)
    await runtime.send(ask('a'))
    if (error !== undefined) await eventually('it is called', () => calls === 1)
    assert.deepEqual(await runtime.stop(), { outcome: 'drained', abandoned: 0 })
    assert.equal(calls, error === undefined ? 0 : 1)
  })
}

test('case 50: who has waited for a turn meanwhile waits for a Retry-After as well', async () => {
  const clock = new ManualClock()
  const start = clock.now()
  const times: number[] = []
  const service = answering(
    (question) => {
      times.push(clock.now() - start)
      if (times.length === 1) throw status(429, 5_000)
      return question
    },
    { rateLimit: { calls: 1, per: '100ms' } },
  )
  await answersTo(service, [ask('a'), ask('b'), ask('c')], { clock })
  assert.ok(
    times.slice(1).every((time) => time >= 5_000),
    `${times}`,
  )
})

test('calls are spaced out as the rate limit says', async () => {
  const clock = new ManualClock()
  const times: number[] = []
  const service = answering(
    (question) => {
      times.push(clock.now())
      return question
    },
    { rateLimit: { calls: 2, per: '1s', burst: 2 } },
  )
  await answersTo(
    service,
    Array.from({ length: 6 }, (_, index) => ask(`${index}`)),
    { clock },
  )
  const [first = 0] = times
  assert.deepEqual(
    times.map((time) => time - first),
    [0, 0, 500, 1_000, 1_500, 2_000],
  )
})

test('cases 9, 50: a rebalance ends the waits of a partition that goes to somebody else, long before the drain limit', async () => {
  const memory = sharedMemory()
  const clock = new ManualClock()
  const service = delegate('moving', {
    ...stopsAtFailure,
    input: versions,
    call: ({ value: { version } }) => {
      if (version === 1) throw status(429, 600_000)
    },
  })
  const member = (): ReturnType<typeof testRuntime> =>
    testRuntime(service, { broker: embeddedBroker({ memory, clock }), clock })
  await using first = await member()
  const ask = (partition: number): ReturnType<typeof versions.message> =>
    versions.message({ key: 'k', value: { version: 1 }, partition })
  await first.send(ask(0), ask(1))
  await moving(
    first,
    eventually('it is turned away', () => first.counts[0]?.own['overloads']),
  )
  const start = clock.now()
  await using second = await member()
  await moving(
    first,
    eventually('each has a partition', async () => {
      const { members } = await first.broker.admin.group('moving')
      return members.length === 2 && members.every(({ partitions }) => partitions.length === 1)
    }),
    1,
  )
  assert.ok(clock.now() - start < 20_000, `${clock.now() - start}`)
  await moving(
    first,
    eventually('its message is delivered again', () => second.counts[0]?.own['calls']),
    1,
  )
  for (const runtime of [first, second])
    assert.deepEqual(await runtime.stop(), { outcome: 'drained', abandoned: 0 })
})
