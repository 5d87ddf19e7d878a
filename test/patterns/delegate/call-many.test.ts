import assert from 'node:assert/strict'
import { test } from 'node:test'
import { delegate, PolluxError, type Service } from '../../../src/index.ts'
import type { CallManyContext } from '../../../src/patterns/delegate/definition.ts'
import { eventually, ManualClock, testRuntime } from '../../../src/testing/index.ts'
import { stopsAtFailure } from '../../stops-at-failure.ts'
import { answers, answersTo, ask, questions, status } from './scene.ts'

/** A delegate that asks in batches; `callMany` is given the questions' texts. */
function asking(
  callMany: (
    questions: readonly string[],
    context: CallManyContext,
  ) => (string | Error)[] | Promise<(string | Error)[]>,
  options: object = {},
): Service {
  return delegate('answer', {
    ...stopsAtFailure,
    input: questions,
    outputs: [answers],
    callMany: async (messages, context) =>
      await callMany(
        messages.map(({ value }) => value),
        context,
      ),
    handle: (value, { key }) => answers.message({ key, value }),
    ...options,
  })
}

const numbered = (count: number): ReturnType<typeof ask>[] =>
  Array.from({ length: count }, (_, index) => ask(`${index}`))

test('messages that are in work at once are asked about together, up to the size of a batch', async () => {
  const sizes: number[] = []
  const service = asking(
    (list) => {
      sizes.push(list.length)
      return list.map((question) => `${question}!`)
    },
    { batch: { size: 4, wait: '1h' } },
  )
  const { values } = await answersTo(service, numbered(8))
  assert.deepEqual(sizes, [4, 4])
  assert.deepEqual(
    values,
    numbered(8).map((_, index) => `${index}!`),
  )
})

test('a batch that does not fill is called when its time has come', async () => {
  const clock = new ManualClock()
  const start = clock.now()
  const calls: [number, number][] = []
  const service = asking(
    (list) => {
      calls.push([list.length, clock.now() - start])
      return [...list]
    },
    { batch: { size: 10, wait: '300ms' } },
  )
  await answersTo(service, numbered(3), { clock })
  assert.deepEqual(calls, [[3, 300]])
})

test('an error among the results fails its message alone, which is tried again in another batch', async () => {
  let failures = 0
  const keys: (readonly string[])[] = []
  const service = asking(
    (list, { idempotencyKeys }) => {
      keys.push(idempotencyKeys)
      return list.map((question) => {
        if (question !== '1' || failures > 0) return question
        failures += 1
        return status(503)
      })
    },
    { batch: { size: 3, wait: '10ms' } },
  )
  const { values } = await answersTo(service, numbered(3))
  assert.deepEqual(values.toSorted(), ['0', '1', '2'])
  assert.equal(keys.length, 2)
  assert.deepEqual(keys[1], [keys[0]?.[1]])
})

test('a message that makes a whole batch refused is found, and the others are answered', async () => {
  const batches: string[] = []
  const answered: string[] = []
  const service = asking(
    (list) => {
      batches.push(list.join(' '))
      if (list.includes('2')) throw status(400)
      return [...list]
    },
    {
      batch: { size: 4, wait: '10ms' },
      handle: (value: string) => void answered.push(value),
    },
  )
  await assert.rejects(answersTo(service, numbered(4)), ({ cause }: PolluxError) => {
    assert.ok(PolluxError.is(cause, 'POLLUX_NOT_RETRYABLE'))
    return true
  })
  assert.deepEqual(batches, ['0 1 2 3', '0 1', '2 3', '2', '3'])
  assert.deepEqual(answered.toSorted(), ['0', '1', '3'])
})

test('a batch that fails as a whole is tried again as a whole', async () => {
  let calls = 0
  const service = asking(
    (list) => {
      calls += 1
      if (calls === 1) throw status(500)
      return [...list]
    },
    { batch: { size: 3, wait: '1s' } },
  )
  const { values, own } = await answersTo(service, numbered(3))
  assert.deepEqual(values.toSorted(), ['0', '1', '2'])
  assert.equal(calls, 2)
  assert.deepEqual(own, { calls: 6, failures: 3 })
})

test('a wrong number of results is a failure, and no message is given another one’s', async () => {
  const service = asking((list) => list.slice(1), {
    batch: { size: 2, wait: '10ms' },
    attempts: 2,
  })
  await assert.rejects(answersTo(service, numbered(2)), /callMany gave \d results for \d messages/)
})

test('a batch takes one turn of the rate limit, and grows while it waits for it', async () => {
  const clock = new ManualClock()
  const start = clock.now()
  const calls: [number, number][] = []
  const service = asking(
    (list) => {
      calls.push([list.length, clock.now() - start])
      return [...list]
    },
    { batch: { size: 3, wait: 0 }, rateLimit: { calls: 1, per: '1s' } },
  )
  await answersTo(service, numbered(7), { clock })
  assert.deepEqual(
    calls.map(([size]) => size),
    [3, 3, 1],
  )
  const times = calls.map(([, time]) => time)
  assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 1_000 && (times[2] ?? 0) >= 2_000, `${times}`)
})

test('case 50: a batch that gathers while another one is turned away waits for its Retry-After', async () => {
  for (const [after, longestWait] of [
    [5_000, '1h'],
    [5_000, '1s'],
  ] as const) {
    const clock = new ManualClock()
    const start = clock.now()
    const calls: [string, number][] = []
    const service = asking(
      async (list) => {
        calls.push([list.join(' '), clock.now() - start])
        if (calls.length > 1) return [...list]
        await new Promise<void>((resolve) => clock.after(500, resolve))
        throw status(429, after)
      },
      { batch: { size: 2, wait: '1s' }, longestWait },
    )
    const done = answersTo(service, numbered(3), { clock })
    if (longestWait === '1s') await assert.rejects(done, /longer wait than longestWait/)
    else await done
    assert.deepEqual(calls[0], ['0 1', 0])
    assert.ok(
      calls.slice(1).every(([, time]) => time >= 5_500),
      JSON.stringify(calls),
    )
  }
})

test('case 12: a batch that hangs is cut off at the time limit', async () => {
  let calls = 0
  const service = asking(
    (list) => {
      calls += 1
      return calls === 1 ? new Promise(() => {}) : [...list]
    },
    { batch: { size: 2 }, timeLimit: '5s' },
  )
  const { values } = await answersTo(service, numbered(2))
  assert.deepEqual(values.toSorted(), ['0', '1'])
})

test('case 58: a stop ends the waiting for a batch, and for its turn', async () => {
  for (const options of [
    { batch: { size: 10, wait: '1h' } },
    { batch: { size: 1 }, rateLimit: { reserve: () => 3_600_000 } },
  ]) {
    const runtime = await testRuntime(asking(() => assert.fail('it was called'), options))
    await runtime.send(ask('a'))
    await eventually('it is in work', () => runtime.counts[0]?.own['calls'] === 1)
    assert.deepEqual(await runtime.stop(), { outcome: 'drained', abandoned: 0 })
  }
})
