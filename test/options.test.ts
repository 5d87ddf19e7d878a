import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { embeddedBroker } from '../src/embedded/index.ts'
import { bytes, defineService, json, PolluxError, run, topic } from '../src/index.ts'
import { kafka } from '../src/kafka/index.ts'
import { nearName } from '../src/near-name.ts'
import { Problems, readOptions } from '../src/options.ts'
import { runtimeOptions } from '../src/runtime-options.ts'

const input = topic('input', { value: bytes })

function invalid(...found: readonly RegExp[]) {
  return (error: unknown): boolean => {
    assert.ok(PolluxError.is(error, 'POLLUX_OPTION_INVALID'), String(error))
    for (const one of found) assert.match(error.message, one)
    return true
  }
}

test('a wrong service says all that is wrong at once', () => {
  assert.throws(
    () =>
      defineService('no spaces', {
        inputs: [input, input],
        outputs: 'x' as never,
        concurrency: 0,
        order: 'keys' as never,
        retries: 3,
        handle: undefined as never,
      } as never),
    invalid(
      /name: /,
      /inputs: 'input' is there twice/,
      /outputs: expected an array/,
      /concurrency: expected a whole number/,
      /order: /,
      /retries: unknown option/,
      /handle: /,
    ),
  )
})

test('a service without inputs is refused', () => {
  assert.throws(
    () => defineService('none', { inputs: [], handle() {} }),
    invalid(/at least one topic/),
  )
})

test('state wants the order of keys', () => {
  assert.throws(
    () =>
      defineService('s', { inputs: [input], state: json(z.string()), order: 'none', handle() {} }),
    invalid(/order: expected 'key'/),
  )
})

test('a topic that Kafka would refuse is refused', () => {
  for (const name of ['', 'with space', '.', '..', 'x'.repeat(250), 'ümlaut']) {
    assert.throws(() => topic(name, { value: bytes }), invalid(/not a topic name/), name)
  }
})

test('a wrong runtime says all that is wrong at once, and starts nothing', async () => {
  const stateful = defineService('stateful', {
    inputs: [input],
    state: json(z.string()),
    handle() {},
  })
  const broker = embeddedBroker()
  await assert.rejects(
    run([stateful, stateful, {} as never], {
      broker,
      bufferBytes: 1,
      drainTimeout: '40s',
      commitInterval: '1 s' as never,
    }),
    invalid(
      /'stateful' is there twice/,
      /store: expected one, such as pgliteStore\(\{ folder \}\) of pollux\/embedded/,
      /made by defineService/,
      /bufferBytes/,
      /stopTimeout: expected more than drainTimeout/,
      /commitInterval/,
    ),
  )
  await broker.close()
})

test('options are taken typed or as text, as they come from flags and environment', () => {
  const problems = new Problems()
  const read = readOptions(
    runtimeOptions,
    { bufferMessages: '50', commitInterval: '2s', createTopics: 'true' },
    problems,
  )
  assert.deepEqual([read.bufferMessages, read.commitInterval, read.createTopics], [50, 2_000, true])
  assert.equal(problems.count, 0)
})

test('every default is a value that its own check accepts', () => {
  for (const [name, option] of Object.entries(runtimeOptions)) {
    assert.deepEqual(option.read(option.default as never), option.default, name)
    assert.deepEqual(option.read(option.shownDefault), option.default, name)
  }
})

const handle = (): void => {}

test('an unknown option lists every name of its object, and the one that was meant', () => {
  assert.throws(
    () => defineService('s', { inputs: [input], handel: handle, handle } as never),
    invalid(
      /handel: unknown option; did you mean handle\? known are inputs, outputs, state, idempotency, uses, handle, handleMany, schedule, opens, retry, order, /,
    ),
  )
  assert.throws(
    () => embeddedBroker({ foldr: 'x' } as never),
    invalid(/did you mean folder\? known are folder, memory, clock, sessionTimeout, /),
  )
  assert.throws(
    () => kafka({ brokers: ['x:1'], broker: 'x' } as never),
    invalid(/did you mean brokers\? known are brokers, tls, sasl, .*, logger, clientId, /),
  )
  assert.throws(
    () => embeddedBroker({ toString: 'x' } as never),
    invalid(/toString: unknown option; known are/),
  )
})

test('what is meant is a name near by, and none that is far', () => {
  const known = ['order', 'start', 'concurrency']
  const meant = ['oder', 'STRAT', 'concurency', 'x', 'or', 'retries']
  assert.deepEqual(
    meant.map((name) => nearName(name, known)),
    ['order', 'start', 'concurrency', undefined, undefined, undefined],
  )
})

test('options that are no object are refused, not read', async () => {
  assert.throws(() => defineService('s', undefined as never), invalid(/Found undefined/))
  assert.throws(() => embeddedBroker('folder' as never), invalid(/Found 'folder'/))
  assert.throws(() => kafka('x:1' as never), invalid(/Found 'x:1'/))
  await assert.rejects(run([], undefined as never), invalid(/Found undefined/))
})

test('brokers that are no list are shown', () => {
  assert.throws(() => kafka({ brokers: 'x:1' } as never), invalid(/list such as .*found 'x:1'/))
})

test('parts of a runtime that are none are refused before anything starts', async () => {
  const service = defineService('s', { inputs: [input], handle })
  const wrong = { broker: 5, store: {}, logger: { info() {} }, signal: 'x', signals: 1, clock: 1 }
  await assert.rejects(
    run(service, { ...wrong, stor: 1 } as never),
    invalid(
      /broker: expected embeddedBroker\(\) or kafka\(\{…\}\), found 5/,
      /store: expected .*pgliteStore.* found an object without open, acquire, load, commit, acknowledge, holds, close/,
      /logger: .* without debug, warn, error/,
      /signal: expected an AbortSignal, found 'x'/,
      /signals: expected true or false/,
      /clock: /,
      /stor: unknown option; did you mean store\? known are broker, store, logger, /,
    ),
  )
})
