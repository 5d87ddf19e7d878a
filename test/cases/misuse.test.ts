import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { embeddedBroker } from '../../src/embedded/index.ts'
import {
  bytes,
  type Codec,
  defineService,
  json,
  PolluxError,
  type State,
  text,
  topic,
} from '../../src/index.ts'
import { eventually, memoryStore, testRuntime } from '../../src/testing/index.ts'
import { watchedBroker } from '../../src/testing/watched-broker.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { faultyStore } from './faulty-store.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })
const stranger = topic('stranger', { key: text, value: text })

test('whatever a handler returns that is no output stops the partition with a clear error, and the engine goes on', async () => {
  const throwing = {
    get then() {
      throw new Error('from then')
    },
  }
  const garbage: readonly (readonly [name: string, value: unknown, code: string])[] = [
    ['a text', 'hello', 'POLLUX_OUTPUT_UNDECLARED'],
    ['a number', 42, 'POLLUX_OUTPUT_UNDECLARED'],
    ['false', false, 'POLLUX_OUTPUT_UNDECLARED'],
    [
      'a list with a hole',
      [output.message({ key: 'a', value: 'x' }), undefined],
      'POLLUX_OUTPUT_UNDECLARED',
    ],
    ['a list of lists', [[output.message({ key: 'a', value: 'x' })]], 'POLLUX_OUTPUT_UNDECLARED'],
    [
      'a message of another topic',
      stranger.message({ key: 'a', value: 'x' }),
      'POLLUX_OUTPUT_UNDECLARED',
    ],
    ['an empty object', {}, 'POLLUX_OUTPUT_UNDECLARED'],
    ['a message without fields', { topic: output }, 'POLLUX_HANDLER_FAILED'],
    [
      'a value of the wrong type',
      output.message({ key: 'a', value: 7 as never }),
      'POLLUX_ENCODE_FAILED',
    ],
    [
      'a header of the wrong type',
      output.message({ key: 'a', value: 'x', headers: { n: 7 as never } }),
      'POLLUX_ENCODE_FAILED',
    ],
    ['a thenable that throws', throwing, 'POLLUX_HANDLER_FAILED'],
    [
      'a thenable that rejects twice',
      {
        then: (_: unknown, no: (e: Error) => void) => (no(new Error('one')), no(new Error('two'))),
      },
      'POLLUX_HANDLER_FAILED',
    ],
    [
      'a thenable that rejects with nothing',
      { then: (_: unknown, no: () => void) => no() },
      'POLLUX_HANDLER_FAILED',
    ],
  ]
  for (const [name, value, code] of garbage) {
    const service = defineService('garbage', {
      ...stopsAtFailure,
      inputs: [input],
      outputs: [output],
      handle: () => value as never,
    })
    await using runtime = await testRuntime(service)
    await runtime.send(input.message({ key: 'a', value: 'x' }))
    await assert.rejects(runtime.settled(), (error) => {
      assert.ok(PolluxError.is(error), name)
      assert.equal(error.code, code, `${name}: ${error.message}`)
      if (code === 'POLLUX_HANDLER_FAILED')
        assert.match(error.hint ?? '', /consume input --partition \d --from 0 --limit 1$/)
      if (code === 'POLLUX_OUTPUT_UNDECLARED') assert.match(error.hint ?? '', /^(Return|Put) /)
      return true
    })
    assert.equal(
      (await runtime.broker.admin.group('garbage').catch(() => undefined))?.offsets[0]?.offset ?? 0,
      0,
    )
  }
})

test('a thenable that calls back twice counts once', async () => {
  let handled = 0
  const service = defineService('twice', {
    ...stopsAtFailure,
    inputs: [input],
    concurrency: 1,
    handle: () => {
      handled += 1
      return {
        // biome-ignore lint/suspicious/noThenProperty: that is what is tested
        then: (yes: (value: undefined) => void) => {
          yes(undefined)
          yes(undefined)
        },
      } as never
    },
  })
  await using runtime = await testRuntime(service)
  await runtime.send(
    ...Array.from({ length: 10 }, (_, n) => input.message({ key: `${n}`, value: 'x' })),
  )
  await runtime.settled()
  assert.equal(handled, 10)
})

test('a change of state that nobody waits for counts all the same, and one that cannot be fails its message', async () => {
  const counter = json(z.number())
  const careless = (change: (state: State<number>) => unknown) =>
    defineService('careless', {
      ...stopsAtFailure,
      inputs: [input],
      state: counter,
      handle: (_, { state }) => void change(state),
    })
  const put = careless((state) => state.put(1))
  {
    await using runtime = await testRuntime(put)
    await runtime.send(input.message({ key: 'a', value: 'x' }))
    await runtime.settled()
    assert.equal(await runtime.state(put, 'a'), 1)
  }
  await using runtime = await testRuntime(careless((state) => state.put('one' as never)))
  await runtime.send(input.message({ key: 'a', value: 'x' }))
  await assert.rejects(runtime.settled(), (error) => PolluxError.is(error, 'POLLUX_ENCODE_FAILED'))
})

test('a handler that does not wait for what it reads fails, as it may go on to a change', async () => {
  const service = defineService('careless', {
    ...stopsAtFailure,
    inputs: [input],
    state: json(z.number()),
    handle: (_, { state }) => void state.get(),
  })
  await using runtime = await testRuntime(service)
  await runtime.send(input.message({ key: 'a', value: 'x' }))
  await assert.rejects(runtime.settled(), (error) => {
    assert.ok(PolluxError.is(error, 'POLLUX_STATE_UNAVAILABLE'), String(error))
    assert.match(error.message, /Await every use of state/)
    return true
  })
})

test('an async codec is awaited, and order within a key is kept', async () => {
  const slow: Codec<string> = {
    name: 'slow',
    nullable: false,
    decode: async (given) => {
      const value = given.toString()
      for (let turn = 0; turn < (value.endsWith('0') ? 20 : 1); turn += 1)
        await new Promise((resolve) => setImmediate(resolve))
      if (value === 'bad') throw new Error('not this one')
      return value
    },
    encode: (value) => Buffer.from(value),
  }
  const slowInput = topic('slow', { key: text, value: slow, create: { partitions: 1 } })
  const seen: string[] = []
  const service = defineService('slow', {
    ...stopsAtFailure,
    inputs: [slowInput],
    handle: ({ value }) => void seen.push(value),
  })
  await using runtime = await testRuntime(service)
  await runtime.send(
    ...Array.from({ length: 50 }, (_, n) =>
      slowInput.message({ key: `${n % 3}`, value: `${n % 3}:${n}` }),
    ),
  )
  await runtime.settled()
  for (const key of ['0', '1', '2']) {
    const own = seen
      .filter((value) => value.startsWith(`${key}:`))
      .map((value) => Number(value.slice(2)))
    assert.equal(own.length, key === '2' ? 16 : 17)
    assert.deepEqual(
      own,
      own.toSorted((a, b) => a - b),
    )
  }
  await runtime.send(slowInput.message({ key: '1', value: 'bad' }))
  await assert.rejects(runtime.settled(), (error) => PolluxError.is(error, 'POLLUX_DECODE_FAILED'))
})

test('a codec whose encode gives a promise is refused, not written', async () => {
  const wrong = {
    ...text,
    encode: async (value: string) => Buffer.from(value),
  } as unknown as Codec<string>
  const out = topic('out', { key: text, value: wrong, create: { partitions: 1 } })
  const service = defineService('wrong', {
    ...stopsAtFailure,
    inputs: [input],
    outputs: [out],
    handle: () => out.message({ key: 'a', value: 'x', headers: { id: 'own' } }),
  })
  await using runtime = await testRuntime(service)
  await runtime.send(input.message({ key: 'a', value: 'x' }))
  await assert.rejects(runtime.settled(), (error) => PolluxError.is(error, 'POLLUX_ENCODE_FAILED'))
})

test('R14: when the broker refuses an output, nothing of its key is committed on top of it', async () => {
  const data = memoryStore()
  const broker = watchedBroker(embeddedBroker(), {
    refusing: ({ topic: name, value }) =>
      name === 'output' && value?.toString() === 'a3' ? new Error('too large') : undefined,
  })
  const service = defineService('refused', {
    ...stopsAtFailure,
    inputs: [input],
    outputs: [output],
    state: text,
    publish: 'direct',
    async handle({ key, value }, { state }) {
      await state.put(`${(await state.get()) ?? ''}${value} `)
      return output.message({ key, value })
    },
  })
  let keep = async (): Promise<void> => {}
  const store = { ...faultyStore(data, () => undefined), close: () => keep() }
  await using runtime = await testRuntime(service, { broker, store })
  await runtime.send(
    ...['a1', 'b1', 'a2', 'a3', 'b2', 'a4', 'a5'].map((value) =>
      input.message({ key: value[0] ?? '', value }),
    ),
  )
  await assert.rejects(runtime.settled(), (error) => PolluxError.is(error, 'POLLUX_OUTPUT_REFUSED'))
  await assert.rejects(runtime.stop(), /too large/)
  const state = (await runtime.state(service, 'a')) as string | undefined
  assert.ok(state === undefined || ['a1 ', 'a1 a2 '].includes(state), `state is ${state}`)
  keep = () => data.close()
})

test('a partition with one message is not kept waiting by another with hot keys', async () => {
  const wide = topic('wide', { key: text, value: text, create: { partitions: 2 } })
  let handled = 0
  const turns: (() => void)[] = []
  let quietAfter: number | undefined
  const service = defineService('fair', {
    ...stopsAtFailure,
    inputs: [wide],
    concurrency: 2,
    async handle({ key }) {
      await new Promise<void>((resolve) => turns.push(resolve))
      handled += 1
      if (key === 'quiet') quietAfter = handled
    },
  })
  await using runtime = await testRuntime(service)
  const hot = Array.from({ length: 400 }, (_, n) =>
    wide.message({ key: n < 300 ? 'hot 0' : `hot ${n % 2}`, value: 'x', partition: 0 }),
  )
  await runtime.send(...hot)
  const step = async (): Promise<void> => {
    turns.shift()?.()
    // The next poll may wait for a moment while fetched messages are not started.
    await runtime.clock.advance(5)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await eventually('handlers run', () => turns.length === 2)
  for (let done = 0; done < 20; done += 1) await step()
  const before = handled
  await runtime.send(wide.message({ key: 'quiet', value: 'x', partition: 1 }))
  await eventually('it was handled', async () => {
    await step()
    return quietAfter !== undefined
  })
  assert.ok(
    (quietAfter ?? Infinity) - before < 60,
    `${(quietAfter ?? 0) - before} others came first`,
  )
  while (handled < 401) await step()
  await runtime.settled()
})

test('headers count against the bound in bytes', async () => {
  const raw = topic('raw', { value: bytes, create: { partitions: 1 } })
  const bound = 1024 * 1024
  let waiting = 0
  let most = 0
  let isPaused = false
  let go = (): void => {}
  const open = new Promise<void>((resolve) => (go = resolve))
  const service = defineService('heavy', {
    ...stopsAtFailure,
    inputs: [raw],
    concurrency: 1,
    async handle() {
      await open
      waiting -= 1
    },
  })
  const broker = watchedBroker(embeddedBroker(), {
    polled: (count) => {
      waiting += count
      most = Math.max(most, waiting)
    },
    pausing: () => {
      isPaused = true
    },
  })
  await using runtime = await testRuntime(service, { broker, bufferBytes: bound })
  const header = 'h'.repeat(50_000)
  for (let n = 0; n < 20; n += 1) {
    await runtime.send(
      ...Array.from({ length: 20 }, () =>
        raw.message({ key: null, value: Buffer.from('x'), headers: { header } }),
      ),
    )
  }
  await eventually('it pauses', async () => {
    await runtime.clock.advance(300)
    return isPaused
  })
  // What one fetch brings is bounded by the adapter; above it, only the first guess of a message's size can be wrong.
  assert.ok(most * 50_000 < bound + 17 * 1024 * 1024, `${most} messages of 50 kB were taken`)
  go()
  await eventually('all are handled', async () => {
    await runtime.clock.advance(300)
    const { offsets } = await runtime.broker.admin.group('heavy')
    return offsets[0]?.offset === 400
  })
})
