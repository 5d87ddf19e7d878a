import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import {
  defineService,
  json,
  NonRetryableError,
  RetryableError,
  type Service,
  text,
  topic,
} from '../../src/index.ts'
import { eventually, ManualClock, type TestRuntime, testRuntime } from '../../src/testing/index.ts'
import { deadLettersOf, told } from './dead-letters.ts'
import { settledInTime } from './settled-in-time.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

const send = (runtime: TestRuntime, ...list: readonly (readonly [string, string])[]) =>
  runtime.send(...list.map(([key, value]) => input.message({ key, value })))

describe('a message that fails', () => {
  test('is tried again after growing waits, and later ones of its key wait for it while others go on', async () => {
    const handled: string[] = []
    const times: number[] = []
    const service = defineService('service', {
      inputs: [input],
      handle({ key, value }, { clock }) {
        handled.push(`${key}:${value}`)
        if (value !== 'bad') return
        times.push(clock.now())
        if (times.length < 4) throw new Error('not yet')
      },
    })
    await using runtime = await testRuntime(service)
    await send(runtime, ['a', 'bad'], ['b', '1'], ['a', '2'], ['b', '2'])
    await eventually('the other key is handled', () => handled.includes('b:2'))
    assert.ok(!handled.includes('a:2'), 'nothing of its key overtakes it')
    await settledInTime(runtime)
    assert.deepEqual(handled, ['a:bad', 'b:1', 'b:2', 'a:bad', 'a:bad', 'a:bad', 'a:2'])
    for (const [index, most] of [200, 400, 800].entries()) {
      const wait = (times[index + 1] ?? 0) - (times[index] ?? 0)
      assert.ok(wait <= most + 100, `wait ${index + 1} of ${wait} ms`)
    }
    assert.equal(runtime.counts[0]?.retries, 3)
    assert.equal(runtime.counts[0]?.deadLetters, 0)
  })

  test('becomes a dead letter after its attempts, with its bytes and what is known', async () => {
    let attempts = 0
    const service = defineService('service', {
      inputs: [input],
      retry: { attempts: 3 },
      handle({ value }) {
        if (value !== 'bad') return
        attempts += 1
        throw Object.assign(new Error('order 4711 is wrong'), { code: 'E_ORDER' })
      },
    })
    await using runtime = await testRuntime(service)
    await runtime.send(
      input.message({
        key: 'k',
        value: 'bad',
        headers: [
          { name: 'h', value: Buffer.from([0, 255]) },
          { name: 'h', value: null },
        ],
      }),
      input.message({ key: 'k', value: 'good' }),
    )
    await settledInTime(runtime)
    assert.equal(attempts, 3)
    const [letter, ...others] = await deadLettersOf(runtime.broker, 'service')
    assert.ok(letter && others.length === 0)
    assert.equal(String(letter.raw.key), 'k')
    assert.equal(String(letter.raw.value), 'bad')
    assert.deepEqual(
      letter.raw.headers.filter(({ name }) => name === 'h').map(({ value }) => value && [...value]),
      [[0, 255], null],
    )
    const {
      topic: from,
      partition,
      offset,
      group,
      attempts: tried,
      message,
      reason,
      error,
      fingerprint,
    } = told(letter)
    assert.deepEqual(
      { from, partition, offset, group, tried, reason, error },
      {
        from: 'input',
        partition: '0',
        offset: '0',
        group: 'service',
        tried: '3',
        reason: 'attempts',
        error: 'E_ORDER',
      },
    )
    assert.match(message ?? '', /order 4711 is wrong/)
    assert.match(fingerprint ?? '', /^[0-9a-f]{12}$/)
  })

  test('for good is not tried again', async () => {
    let attempts = 0
    const service = defineService('service', {
      inputs: [input],
      handle() {
        attempts += 1
        throw new NonRetryableError('never')
      },
    })
    await using runtime = await testRuntime(service)
    await send(runtime, ['k', 'x'])
    await runtime.settled()
    assert.equal(attempts, 1)
    const [letter] = await deadLettersOf(runtime.broker, 'service')
    assert.equal(letter && told(letter).reason, 'permanent')
  })

  test('is tried again when it asks for, and not before', async () => {
    const times: number[] = []
    const service = defineService('service', {
      inputs: [input],
      handle(_, { clock }) {
        times.push(clock.now())
        if (times.length === 1) throw new RetryableError('later', { after: '1h' })
      },
    })
    await using runtime = await testRuntime(service)
    await send(runtime, ['k', 'x'])
    await eventually('it was tried', () => times.length === 1)
    await runtime.clock.advance(3_599_000)
    assert.equal(times.length, 1)
    await settledInTime(runtime)
    assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 3_600_000)
  })

  test('follows the first override that matches its error or a cause of it', async () => {
    class Odd extends Error {}
    const attempts = new Map<string, number>()
    const errors: Readonly<Record<string, () => Error>> = {
      code: () => Object.assign(new Error(), { code: 'E_NOW' }),
      class: () => new Error('outer', { cause: new Odd() }),
      predicate: () => new Error('like this one'),
      // An outage that is declared to be the message's own.
      outage: () => Object.assign(new Error(), { code: 'ECONNREFUSED' }),
      rest: () => new Error('something else'),
    }
    const service = defineService('service', {
      inputs: [input],
      retry: {
        attempts: 4,
        overrides: [
          { on: 'E_NOW', attempts: 1 },
          { on: Odd, attempts: 2 },
          {
            on: (error) => error instanceof Error && error.message.startsWith('like'),
            attempts: 3,
          },
          { on: 'ECONNREFUSED', attempts: 2 },
        ],
      },
      handle({ value }) {
        attempts.set(value, (attempts.get(value) ?? 0) + 1)
        throw errors[value]?.() ?? new Error('unknown')
      },
    })
    await using runtime = await testRuntime(service)
    await send(runtime, ...Object.keys(errors).map((name) => [name, name] as const))
    await settledInTime(runtime)
    assert.deepEqual(Object.fromEntries(attempts), {
      code: 1,
      class: 2,
      predicate: 3,
      outage: 2,
      rest: 4,
    })
    assert.equal((await deadLettersOf(runtime.broker, 'service')).length, 5)
  })

  test('case 12: one that hangs is cut off at its time limit and told so, others go on, and it ends as a dead letter', async () => {
    const handled: string[] = []
    const aborted: unknown[] = []
    const service = defineService('service', {
      inputs: [input],
      state: text,
      retry: { attempts: 2, timeLimit: '5s' },
      async handle({ value }, { signal, state }) {
        if (value !== 'hangs') return void handled.push(value)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        aborted.push(signal.reason)
        // Too late: nobody waits for it any more.
        await state.put('late').catch(() => {})
      },
    })
    await using runtime = await testRuntime(service)
    await send(runtime, ['k', 'hangs'], ['l', 'other'], ['k', 'next'])
    await eventually('the other is handled', () => handled.includes('other'))
    await settledInTime(runtime)
    assert.deepEqual(handled, ['other', 'next'])
    assert.equal(aborted.length, 2)
    assert.equal(await runtime.state(service, 'k'), undefined)
    const [letter] = await deadLettersOf(runtime.broker, 'service')
    assert.equal(letter && told(letter).error, 'POLLUX_HANDLER_TIMEOUT')
  })

  test('without dead letters stops its partition after its attempts', async () => {
    let attempts = 0
    const service = defineService('service', {
      inputs: [input],
      deadLetter: false,
      retry: { attempts: 2 },
      handle() {
        attempts += 1
        throw new Error('always')
      },
    })
    await using runtime = await testRuntime(service)
    await send(runtime, ['k', 'x'])
    await eventually('it was tried', () => attempts === 1)
    await runtime.clock.advance(1_000)
    await assert.rejects(runtime.settled(), /always/)
    assert.equal(attempts, 2)
  })
})

describe('with a store', () => {
  test('a dead letter is stored in the unit, its state stays as it was, and its key goes on from there', async () => {
    const service = defineService('service', {
      inputs: [input],
      outputs: [output],
      state: json(z.number()),
      idempotency: { by: 'event-id' },
      retry: { attempts: 2 },
      async handle({ key, value }, { state }) {
        const sum = ((await state.get()) ?? 0) + 1
        await state.put(sum)
        if (value === 'bad') throw new Error('after the change')
        return output.message({ key, value: `${value}:${sum}` })
      },
    })
    await using runtime = await testRuntime(service)
    const of = (value: string, id: string) => input.message({ key: 'k', value, headers: { id } })
    await runtime.send(of('one', 'e1'), of('bad', 'e2'), of('two', 'e3'), of('bad', 'e2'))
    await settledInTime(runtime)
    assert.equal(await runtime.state(service, 'k'), 2)
    assert.deepEqual(
      (await runtime.messages(output)).map(({ value }) => value),
      ['one:1', 'two:2'],
    )
    assert.equal(
      (await deadLettersOf(runtime.broker, 'service')).length,
      1,
      'its copy is a duplicate',
    )
    assert.equal(runtime.counts[0]?.duplicates, 1)
  })

  for (const publish of ['outbox', 'direct'] as const) {
    test(`an undecodable message is one, with its bytes; publish: ${publish}`, async () => {
      const numbers = topic('input', {
        key: text,
        value: json(z.number()),
        create: { partitions: 1 },
      })
      const handled: number[] = []
      const service: Service = defineService('service', {
        inputs: [numbers],
        outputs: [output],
        state: json(z.number()),
        publish,
        handle: ({ value }) => void handled.push(value),
      })
      await using runtime = await testRuntime(service)
      await send(runtime, ['k', '{'], ['k', '7'])
      await runtime.settled()
      assert.deepEqual(handled, [7])
      const [letter] = await deadLettersOf(runtime.broker, 'service')
      assert.equal(String(letter?.raw.value), '{')
      assert.equal(letter && told(letter).reason, 'undecodable')
    })
  }
})

test('a held message of a partition that is given up is the next owner’s, without a failure', async () => {
  const clock = new ManualClock()
  let isBad = true
  const handled: string[] = []
  const service = defineService('service', {
    inputs: [input],
    handle({ value }) {
      handled.push(value)
      if (isBad && value === 'bad') throw new Error('not yet')
    },
  })
  const memory = sharedMemory()
  const one = await testRuntime(service, { clock, broker: embeddedBroker({ memory, clock }) })
  await send(one, ['k', 'bad'], ['k', 'next'], ['l', 'other'])
  await eventually('it was tried', () => handled.includes('other'))
  const { outcome } = await one.stop()
  assert.equal(outcome, 'drained')
  isBad = false
  handled.length = 0
  await using two = await testRuntime(service, {
    clock,
    broker: embeddedBroker({ memory, clock }),
  })
  await two.settled()
  assert.deepEqual(handled, ['bad', 'next', 'other'])
})

test('declarations that cannot be meant are refused, all at once', () => {
  assert.throws(
    () =>
      defineService('service', {
        inputs: [input],
        outputs: [output],
        deadLetter: 'output',
        retry: { attempts: 0, backoff: { base: '1m', max: '1s' }, overrides: [{ on: 7 as never }] },
        handle() {},
      }),
    /attempts: expected[^]*backoff.base: expected[^]*overrides.on: expected[^]*deadLetter: expected a topic that is neither/,
  )
})
