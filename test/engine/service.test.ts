import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { defineService, json, PolluxError, text, topic } from '../../src/index.ts'
import { testRuntime } from '../../src/testing/index.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'

const Price = z.object({ price: z.number() })
const prices = topic('prices', { key: text, value: json(Price), create: { partitions: 3 } })
const highs = topic('highs', { key: text, value: json(Price) })

const keepHighs = defineService('keep-highs', {
  ...stopsAtFailure,
  inputs: [prices],
  outputs: [highs],
  state: json(Price),
  async handle({ key, value }, { state }) {
    const high = await state.get()
    if (high !== undefined && high.price >= value.price) return
    await state.put(value)
    return highs.message({ key, value })
  },
})

const price = (key: string, price: number) => prices.message({ key, value: { price } })

test('a message goes through handler, state, output and committed offset', async () => {
  await using runtime = await testRuntime(keepHighs)
  await runtime.send(price('a', 1), price('a', 3), price('a', 2), price('b', 5))
  await runtime.settled()
  assert.deepEqual(await runtime.state(keepHighs, 'a'), { price: 3 })
  assert.deepEqual(
    (await runtime.messages(highs)).map(({ key, value }) => [key, value.price]).toSorted(),
    [
      ['a', 1],
      ['a', 3],
      ['b', 5],
    ],
  )
})

test('a stored output carries an id that follows from its input', async () => {
  await using runtime = await testRuntime(keepHighs)
  await runtime.send(price('a', 1), price('a', 2))
  await runtime.settled()
  const ids = (await runtime.messages(highs)).map(({ id }) => id)
  assert.match(ids[0] ?? '', /^keep-highs:prices~[\w-]{8}\/\d\/0:highs:0$/)
  assert.equal(new Set(ids).size, 2)
})

test('an output made of an event with a long id does not grow', async () => {
  const byEvent = defineService('by-event', {
    ...stopsAtFailure,
    inputs: [prices],
    outputs: [highs],
    idempotency: { by: 'event-id' },
    handle: ({ key, value }) => highs.message({ key, value }),
  })
  await using runtime = await testRuntime(byEvent)
  const id = 'x'.repeat(500)
  await runtime.send(prices.message({ key: 'a', value: { price: 1 }, headers: { id } }))
  await runtime.settled()
  const [message] = await runtime.messages(highs)
  assert.match(message?.id ?? '', /^by-event:prices\/[\w-]{27}:highs:0$/)
})

test('a failing handler stops its partition in front of the message', async () => {
  const failing = defineService('failing', {
    ...stopsAtFailure,
    inputs: [prices],
    handle({ value }) {
      if (value.price === 2) throw new Error('no twos')
    },
  })
  await using runtime = await testRuntime(failing)
  await runtime.send(price('a', 1), price('a', 2), price('a', 3))
  await assert.rejects(runtime.settled(), (error) => {
    assert.ok(PolluxError.is(error, 'POLLUX_HANDLER_FAILED'))
    assert.match(error.message, /prices\/\d\/1 failed: no twos/)
    return true
  })
})
