import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { z } from 'zod'
import { delegate, httpCall, json, PolluxError, type Service } from '../../../src/index.ts'
import { classify } from '../../../src/patterns/delegate/classify.ts'
import { systemClock } from '../../../src/system-clock.ts'
import { eventually, testRuntime } from '../../../src/testing/index.ts'
import { Child } from '../../crash/child-process.ts'
import { stopsAtFailure } from '../../stops-at-failure.ts'
import type { Plan } from './http-server-process.ts'
import { HttpService } from './http-service.ts'
import { answers, ask, questions, realClock } from './scene.ts'

let http: HttpService

before(async () => {
  http = await HttpService.start()
})
after(() => http.process.kill())

/** A delegate that asks the service, under a name of its own. */
function asking(name: string, options: object = {}, at: string = http.url): Service {
  return delegate(name, {
    ...stopsAtFailure,
    input: questions,
    outputs: [answers],
    call: ({ value }, context) =>
      httpCall(context, {
        url: `${at}/ask`,
        body: JSON.stringify(value),
        response: json(z.string()),
      }),
    handle: (value, { key }) => answers.message({ key, value }),
    timeLimit: '5s',
    backoff: { base: '20ms', max: '200ms' },
    ...options,
  })
}

/** Runs it by the machine's clock over these questions. */
async function run(service: Service, plan: Plan, asked: readonly string[]): Promise<string[]> {
  await http.plan(plan)
  await using runtime = await testRuntime(service, { clock: realClock })
  await runtime.send(...asked.map((question) => ask(question)))
  await runtime.settled()
  return (await runtime.messages(answers)).map(({ value }) => value)
}

/** When the service got each call of a question, in milliseconds after its first. */
async function timesOf(question: string): Promise<number[]> {
  const { seen } = await http.seen()
  const times = seen.filter((one) => one.question === question).map(({ at }) => at)
  return times.map((time) => time - (times[0] ?? 0))
}

test('case 51: 503 is tried again until it works; 400 fails at once, and both under one idempotency key each', async () => {
  const got = await run(asking('unavailable'), { u2: [{ status: 503 }, { status: 503 }] }, [
    'u1',
    'u2',
  ])
  assert.deepEqual(got.toSorted(), ['u1!', 'u2!'])
  const { seen } = await http.seen()
  const keys = seen.filter(({ question }) => question === 'u2').map((one) => one.idempotencyKey)
  assert.equal(keys.length, 3)
  assert.equal(new Set(keys).size, 1)
  await assert.rejects(
    run(asking('refused'), { r1: [{ status: 400 }] }, ['r1']),
    (error: PolluxError) => PolluxError.is(error.cause, 'POLLUX_NOT_RETRYABLE'),
  )
  assert.equal((await timesOf('r1')).length, 1)
})

test('case 51: a call that times out here and succeeded there is repeated under its key, and has its effect once', async () => {
  const before = (await http.seen()).effects
  const plan = { slow: [{ delay: 2_000 }] }
  assert.deepEqual(await run(asking('slow', { timeLimit: '300ms' }), plan, ['slow']), ['slow!'])
  assert.equal((await timesOf('slow')).length, 2)
  assert.equal((await http.seen()).effects, before + 1)
})

test('case 50: Retry-After is honoured in seconds and as a date; what cannot be read is not waited for', async () => {
  const after = (value: string): Plan[string] => [
    { status: 429, headers: { 'retry-after': value } },
  ]
  const plan: Plan = {
    seconds: after('1'),
    date: [{ status: 503, dateIn: 3_000 }],
    past: [{ status: 429, dateIn: -60_000 }],
    zero: after('0'),
    negative: after('-5'),
    words: after('2abc'),
    none: [{ status: 429 }],
  }
  const waits = new Map<string, number>()
  for (const question of Object.keys(plan)) {
    const got = await run(asking(`after-${question}`, { attempts: 1 }), plan, [question])
    assert.deepEqual(got, [`${question}!`])
    waits.set(question, (await timesOf(question))[1] ?? Number.NaN)
  }
  assert.ok((waits.get('seconds') ?? 0) >= 1_000, `${waits.get('seconds')}`)
  // A date has whole seconds, so up to one of them is lost where it is written.
  assert.ok((waits.get('date') ?? 0) >= 2_000, `${waits.get('date')}`)
  for (const question of ['past', 'zero', 'negative', 'words', 'none'])
    assert.ok((waits.get(question) ?? 9_999) < 1_000, `${question}: ${waits.get(question)}`)
})

test('case 50: twenty that are turned away at once come back after the time they were given, not all at once', async () => {
  const asked = Array.from({ length: 20 }, (_, index) => `many-${index}`)
  const answer = { status: 429, headers: { 'retry-after': '1' } }
  const plan = Object.fromEntries(asked.map((question) => [question, [answer]]))
  const got = await run(asking('many', { backoff: { base: '400ms' } }), plan, asked)
  assert.equal(got.length, 20)
  const { seen } = await http.seen()
  const second = asked.map(
    (question) => seen.filter((one) => one.question === question)[1]?.at ?? 0,
  )
  assert.ok(
    Math.min(...second) - (seen.find(({ question }) => question === 'many-0')?.at ?? 0) >= 1_000,
  )
  assert.ok(Math.max(...second) - Math.min(...second) > 100, `${second}`)
})

test('case 50: a service that dies is waited for, and used again when it is back', async () => {
  const mortal = await HttpService.start()
  await mortal.plan({ last: [{ dies: true }] })
  const service = asking('mortal', { breaker: { calls: 3, window: 3, pause: '200ms' } }, mortal.url)
  const runtime = await testRuntime(service, { clock: realClock })
  await runtime.send(ask('last'), ask('next'))
  await eventually('calls have failed', () => (runtime.counts[0]?.own['opened'] ?? 0) > 0)
  await mortal.process.ended()
  await using _revived = await HttpService.start(mortal.port)
  await runtime.settled()
  assert.deepEqual((await runtime.messages(answers)).map(({ value }) => value).toSorted(), [
    'last!',
    'next!',
  ])
  await runtime.stop()
})

test('cases 50, 58: SIGTERM during a wait for Retry-After ends the process with 0, at once', async () => {
  await http.plan({ long: [{ status: 429, headers: { 'retry-after': '600' } }] })
  const child = new Child('patterns/delegate/http-delegate-process.ts', {
    url: http.url,
    asked: ['long'],
  })
  await child.says('ready')
  await eventually('it was turned away', async () => (await timesOf('long')).length === 1)
  const start = performance.now()
  child.signal('SIGTERM')
  assert.equal(await child.ended(), 0, child.errors)
  assert.ok(performance.now() - start < 2_000)
  assert.equal((await timesOf('long')).length, 1)
})

const context = {
  signal: new AbortController().signal,
  clock: systemClock,
  idempotencyKey: 'größe/1',
}

test('an answer that is no success is an error with status and body, and no secret of the request in its text', async () => {
  await http.plan({ secret: [{ status: 422, headers: { 'retry-after': '7' } }] })
  const url = new URL(`${http.url}/ask?token=hidden`)
  const call = httpCall(context, { url, body: '"secret"', headers: { authorization: 'hidden' } })
  await assert.rejects(
    call,
    (error: PolluxError & { status?: number; body?: string; after?: number }) => {
      assert.equal(error.message, `POST ${http.url}/ask: the answer is 422.`)
      assert.deepEqual(
        [error.code, error.status, error.body, error.after],
        ['POLLUX_CALL_FAILED', 422, '"secret!"', 7_000],
      )
      return true
    },
  )
  const { seen } = await http.seen()
  assert.equal(seen.at(-1)?.idempotencyKey, 'gr%C3%B6%C3%9Fe%2F1')
})

test('no answer at all is transient, and says why', async () => {
  const nobody = httpCall(context, { url: 'http://127.0.0.1:9/x' })
  await assert.rejects(nobody, (error: PolluxError) => {
    assert.match(error.message, /^GET http:\/\/127\.0\.0\.1:9\/x: no answer: /)
    assert.equal(error.code, 'POLLUX_CALL_FAILED')
    return classify(error).kind === 'transient'
  })
  const over = { ...context, signal: AbortSignal.abort(new Error('over')) }
  await assert.rejects(httpCall(over, { url: http.url }), /over/)
})

test('bodies are text, bytes or JSON; an answer that its codec refuses is permanent', async () => {
  const bytes = await httpCall(context, { url: `${http.url}/ask`, body: Buffer.from('"b"') })
  assert.equal(bytes.toString(), '"b!"')
  const refused = httpCall(context, {
    url: `${http.url}/ask`,
    body: '"x"',
    response: json(z.number()),
  })
  await assert.rejects(refused, (error) => classify(error).kind === 'permanent')
  const url = `${http.url}/ask`
  await assert.rejects(httpCall(context, { url, body: { id: 1n } }), /cannot be written as JSON/)
})
