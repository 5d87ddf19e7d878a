import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineService, PolluxError, text, topic } from '../../src/index.ts'
import { eventually, testRuntime, within } from '../../src/testing/index.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

const words = topic('words', { key: text, value: text, create: { partitions: 2 } })
const loud = topic('loud', { key: text, value: text, create: { partitions: 2 } })
const louder = topic('louder', { key: text, value: text })

const shout = defineService('shout', {
  ...stopsAtFailure,
  inputs: [words],
  outputs: [loud],
  handle: ({ key, value }) => loud.message({ key, value: `${value}!` }),
})
const shoutAgain = defineService('shout-again', {
  ...stopsAtFailure,
  inputs: [loud],
  outputs: [louder],
  handle: ({ key, value }) => louder.message({ key, value: `${value}!` }),
})

test('settled waits for outputs that other services read', async () => {
  await using runtime = await testRuntime([shout, shoutAgain])
  await runtime.send(
    words.message({ key: 'a', value: 'one' }),
    words.message({ key: 'b', value: 'two' }),
  )
  await runtime.settled()
  const values = (await runtime.messages(louder)).map(({ value }) => value)
  assert.deepEqual(values.toSorted(), ['one!!', 'two!!'])
})

test('settled tells what stopped a service', async () => {
  const failing = defineService('failing', {
    ...stopsAtFailure,
    inputs: [words],
    handle() {
      throw new Error('no words')
    },
  })
  await using runtime = await testRuntime(failing)
  await runtime.send(words.message({ key: 'a', value: 'one' }))
  await assert.rejects(runtime.settled(), (error) => PolluxError.is(error, 'POLLUX_HANDLER_FAILED'))
})

test('a failure that the test did not look at is thrown at its end', async () => {
  let hasThrown = false
  const failing = defineService('failing', {
    ...stopsAtFailure,
    inputs: [words],
    handle() {
      hasThrown = true
      throw new Error('no words')
    },
  })
  const ended = (async () => {
    await using runtime = await testRuntime(failing)
    await runtime.send(words.message({ key: 'a', value: 'one' }))
    await eventually('the handler has failed', () => hasThrown)
  })()
  await assert.rejects(ended, (error) => PolluxError.is(error, 'POLLUX_HANDLER_FAILED'))
})

test('a handler that never returns does not hold the end of a test', async () => {
  let isRunning = false
  const stuck = defineService('stuck', {
    ...stopsAtFailure,
    inputs: [words],
    async handle() {
      isRunning = true
      await new Promise(() => {})
    },
  })
  const ended = (async () => {
    await using runtime = await testRuntime(stuck)
    await runtime.send(words.message({ key: 'a', value: 'one' }))
    await eventually('the handler runs', () => isRunning)
  })()
  await within('the runtime is disposed of', ended, 10_000)
})
