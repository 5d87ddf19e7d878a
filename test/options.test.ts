import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { embeddedBroker } from '../src/embedded/index.ts'
import { bytes, defineService, json, PolluxError, run, topic } from '../src/index.ts'
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
      /store: expected one/,
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
