import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { delegate, json, PolluxError } from '../../src/index.ts'
import {
  eventually,
  ManualClock,
  MemoryStoreData,
  memoryStore,
  testRuntime,
} from '../../src/testing/index.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import {
  answering,
  answers,
  answersTo,
  ask,
  moving,
  type Options,
  questions,
  status,
  stumbling,
  versions,
} from './delegate/scene.ts'

test('what comes of an answer is published', async () => {
  const { values, own } = await answersTo(
    answering((question) => `${question}!`),
    [ask('a'), ask('b')],
  )
  assert.deepEqual(values, ['a!', 'b!'])
  assert.deepEqual(own, { calls: 2 })
})

test('case 51: what fails is tried again, under the same idempotency key', async () => {
  const seen: [string, number][] = []
  const service = answering((_, { idempotencyKey, attempt }) => {
    seen.push([idempotencyKey, attempt])
    if (attempt < 3) throw status(503)
    return 'at last'
  })
  const { values, own } = await answersTo(service, [
    questions.message({ key: 'a', value: 'x', headers: { id: 'q1' } }),
  ])
  assert.deepEqual(values, ['at last'])
  assert.deepEqual(
    seen,
    [1, 2, 3].map((attempt) => ['answer:questions:q1', attempt]),
  )
  assert.deepEqual(own, { calls: 3, failures: 2 })
})

test('case 51: what is refused for good is not tried again, and its cause is told', async () => {
  let calls = 0
  const service = answering(() => {
    calls += 1
    throw status(400)
  })
  await assert.rejects(answersTo(service, [ask('a')]), ({ cause }: PolluxError) => {
    assert.ok(PolluxError.is(cause, 'POLLUX_NOT_RETRYABLE'))
    assert.match(cause.message, /The call was refused: status 400/)
    return true
  })
  assert.equal(calls, 1)
})

test('case 12: a message that always fails is given up after its attempts', async () => {
  let calls = 0
  const service = answering(
    (question) => {
      if (question !== 'bad') return question
      calls += 1
      throw status(500)
    },
    { attempts: 3 },
  )
  await assert.rejects(answersTo(service, [ask('good'), ask('bad')]), ({ cause }: PolluxError) => {
    assert.ok(PolluxError.is(cause, 'POLLUX_NOT_RETRYABLE'))
    assert.match(cause.message, /failed 3 times, at last: status 500/)
    return true
  })
  assert.equal(calls, 3)
})

test('case 51: twenty single failures among a thousand messages stop nothing, as each message has its own count', async () => {
  const service = answering(
    (question, { attempt }) => {
      if (Number(question) % 50 === 7 && attempt === 1) throw status(503)
      return question
    },
    { attempts: 2 },
  )
  const messages = Array.from({ length: 1_000 }, (_, index) => ask(`${index % 97}`, `${index}`))
  const { values, own } = await answersTo(service, messages)
  assert.equal(new Set(values).size, 1_000)
  assert.deepEqual(own, { calls: 1_020, failures: 20 })
})

test('a key waits for its message that fails, and the others go on', async () => {
  const first = stumbling(status(500), status(500))
  const service = answering((question) => (question === 'a1' ? first(question) : question))
  const { values } = await answersTo(service, [ask('a', 'a1'), ask('a', 'a2'), ask('b', 'b1')])
  assert.deepEqual(values, ['b1', 'a1!', 'a2'])
})

test('case 12: a call that hangs is cut off at its time limit and repeated; other keys go on meanwhile', async () => {
  const signals: AbortSignal[] = []
  const hung = answering(
    (question, { signal, attempt }) => {
      if (question !== 'slow' || attempt > 1) return `${question} ${attempt}`
      signals.push(signal)
      return new Promise(() => {})
    },
    { timeLimit: '5s' },
  )
  const { values, took } = await answersTo(hung, [ask('slow'), ask('quick')])
  assert.deepEqual(values, ['quick 1', 'slow 2'])
  assert.ok(took >= 5_000)
  assert.ok(PolluxError.is(signals[0]?.reason, 'POLLUX_CALL_TIMEOUT'))
})

test('what was answered before is not asked again: by value, or by what the cache is told to go by', async () => {
  let calls = 0
  const call = (question: string): string => {
    calls += 1
    return `${question} ${calls}`
  }
  const oneByOne = { concurrency: 1 }
  const messages = [ask('a', 'x'), ask('b', 'x'), ask('c', 'y'), ask('a', 'x')]
  const byValue = await answersTo(answering(call, { cache: {}, ...oneByOne }), messages)
  assert.deepEqual(byValue.values, ['x 1', 'x 1', 'y 2', 'x 1'])
  assert.deepEqual(byValue.own, { calls: 2, cached: 2 })
  calls = 0
  const by: NonNullable<Options['cache']> = { by: ({ key }) => (key === 'c' ? undefined : key) }
  const byKey = await answersTo(answering(call, { cache: by, ...oneByOne }), messages)
  assert.deepEqual(byKey.values, ['x 1', 'x 2', 'y 3', 'x 1'])
})

test('a result that comes after a newer version’s is rejected, also when another process had that one', async () => {
  const memory = sharedMemory()
  const data = new MemoryStoreData()
  const clock = new ManualClock()
  const old = Promise.withResolvers<void>()
  const asked: number[] = []
  const service = delegate('newest', {
    ...stopsAtFailure,
    input: versions,
    outputs: [answers],
    idempotency: { by: 'version', of: ({ value }) => value.version },
    call: async ({ value: { version } }) => {
      asked.push(version)
      if (version === 1) await old.promise
      return `version ${version}`
    },
    handle: (value, { key }) => answers.message({ key, value }),
  })
  const start = (): ReturnType<typeof testRuntime> =>
    testRuntime(service, {
      broker: embeddedBroker({ memory, clock }),
      store: memoryStore(data, clock),
      clock,
    })
  await using first = await start()
  await using second = await start()
  const version = (number: number, partition: number): ReturnType<typeof versions.message> =>
    versions.message({ key: 'k', value: { version: number }, partition })
  await eventually('each has a partition', async () => {
    await clock.advance(100)
    const { members } = await first.broker.admin.group('newest')
    return members.length === 2 && members.every(({ partitions }) => partitions.length === 1)
  })
  await first.send(version(1, 0))
  await moving(
    first,
    eventually('the old one is asked about', () => asked.includes(1)),
  )
  await first.send(version(2, 1))
  await moving(
    first,
    eventually('the new one is stored', async () => {
      const found = await first.messages(answers)
      return found.length === 1
    }),
  )
  old.resolve()
  await moving(first, Promise.all([first.settled(), second.settled()]))
  assert.deepEqual(
    (await first.messages(answers)).map(({ value }) => value),
    ['version 2'],
  )
  assert.equal((first.counts[0]?.stale ?? 0) + (second.counts[0]?.stale ?? 0), 1)
})

test('an error that only its client understands is classified by the delegate', async () => {
  const service = answering(stumbling('busy', 'busy', 'strange'), {
    attempts: 1,
    classify: (error) =>
      error === 'busy'
        ? { kind: 'overload', after: 100 }
        : error === 'strange'
          ? 'overload'
          : undefined,
  })
  const { values, own } = await answersTo(service, [ask('a')])
  assert.deepEqual(values, ['a!'])
  assert.equal(own['overloads'], 3)
})

test('everything that is wrong with a delegate is said at once', () => {
  const wrong = {
    input: questions,
    call: 5,
    callMany: () => [],
    batch: { size: 100, wait: 'soon' },
    handle: 'x',
    attempts: 0,
    timelimit: '5s',
    backoff: { base: '1m', max: '1s' },
    breaker: { calls: 100, window: 10 },
    rateLimit: { call: 5 },
    cache: { by: 'value' },
    concurrency: 8,
  }
  assert.throws(
    () => delegate('wrong', wrong as never),
    (error: PolluxError) => {
      assert.equal(error.code, 'POLLUX_OPTION_INVALID')
      for (const said of [
        /call: expected a function, found 5/,
        /call: expected either call or callMany, found both/,
        /batch\.wait: expected a duration/,
        /batch\.size: expected no more than concurrency \(8\).*found 100/,
        /handle: expected a function/,
        /attempts: expected a whole number from 1 to 1000000, or 'endless', found 0/,
        /timelimit: unknown option; did you mean timeLimit/,
        /backoff\.base: expected no more than backoff\.max/,
        /breaker\.calls: expected no more than breaker\.window/,
        /rateLimit\.call: unknown option; did you mean calls/,
        /cache\.by: expected a function/,
      ])
        assert.match(error.message, said)
      return true
    },
  )
  assert.throws(
    () => delegate('x', { input: questions } as never),
    /either call or callMany, found none/,
  )
  assert.throws(
    () => delegate('x', { input: questions, call: () => 1, batch: {} } as never),
    /batch: expected callMany/,
  )
  assert.throws(() => delegate('x', { call: () => json } as never), /inputs: expected topics/)
})
