import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineService, text, topic } from '../../src/index.ts'
import { eventually, testRuntime } from '../../src/testing/index.ts'
import { deadLettersOf, told } from './dead-letters.ts'
import { settledInTime } from './settled-in-time.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

for (const store of [undefined, 'offset'] as const) {
  test(`a batch in which one message fails twice: what is behind it waits for it, and each has its output once; ${store ?? 'no'} store`, async () => {
    let failures = 0
    const calls: string[][] = []
    const service = defineService('service', {
      ...(store === undefined ? {} : { idempotency: { by: store } }),
      inputs: [input],
      outputs: [output],
      handleMany(messages) {
        calls.push(messages.map(({ value }) => value))
        return messages.map((message) => {
          const { key, value } = message
          if (value !== '2' || failures === 2)
            return { message, outputs: output.message({ key, value }) }
          failures += 1
          return { message, error: new Error('not yet') }
        })
      },
    })
    await using runtime = await testRuntime(service)
    await runtime.send(
      ...[0, 1, 2, 3, 4, 5].map((n) => input.message({ key: 'k', value: `${n}`, partition: 0 })),
      ...[6, 7].map((n) => input.message({ key: 'other', value: `${n}`, partition: 1 })),
    )
    await settledInTime(runtime)
    const values = (await runtime.messages(output)).map(({ value }) => value)
    assert.deepEqual(
      values.filter((value) => value < '6'),
      ['0', '1', '2', '3', '4', '5'],
      JSON.stringify(calls),
    )
    assert.deepEqual(values.toSorted(), ['0', '1', '2', '3', '4', '5', '6', '7'])
    assert.equal(runtime.counts[0]?.retries, 2)
  })

  test(`a batch with a message that never works is a dead letter and the others; ${store ?? 'no'} store`, async () => {
    const service = defineService('service', {
      ...(store === undefined ? {} : { idempotency: { by: store } }),
      inputs: [input],
      outputs: [output],
      retry: { attempts: 3 },
      handleMany(messages) {
        // It does not say which one.
        if (messages.some(({ value }) => value === '4')) throw new Error('one of them is bad')
        return messages.map((message) => {
          const { key, value } = message
          return { message, outputs: output.message({ key, value }) }
        })
      },
    })
    await using runtime = await testRuntime(service)
    await runtime.send(
      ...Array.from({ length: 10 }, (_, n) => input.message({ key: `k${n % 3}`, value: `${n}` })),
    )
    await settledInTime(runtime)
    const [letter, ...more] = await deadLettersOf(runtime.broker, 'service')
    assert.equal(String(letter?.raw.value), '4')
    assert.equal(letter && told(letter).attempts, '3')
    assert.equal(more.length, 0)
    const values = (await runtime.messages(output)).map(({ value }) => value)
    assert.deepEqual(values.toSorted(), ['0', '1', '2', '3', '5', '6', '7', '8', '9'])
    for (const rest of [0, 1, 2]) {
      const ofKey = values.filter((value) => Number(value) % 3 === rest)
      assert.deepEqual(ofKey, ofKey.toSorted())
    }
  })
}

test('outputs, offset and dead letter are one transaction where the service publishes by them', async () => {
  const service = defineService('service', {
    inputs: [input],
    outputs: [output],
    publish: 'transaction',
    retry: { attempts: 2 },
    handle({ key, value }) {
      if (value === 'bad') throw new Error('never')
      return output.message({ key, value })
    },
  })
  await using runtime = await testRuntime(service)
  await runtime.send(
    ...['a', 'bad', 'b'].map((value) => input.message({ key: 'k', value, partition: 0 })),
  )
  await settledInTime(runtime)
  assert.deepEqual(
    (await runtime.messages(output)).map(({ value }) => value),
    ['a', 'b'],
  )
  assert.equal((await deadLettersOf(runtime.broker, 'service')).length, 1)
})

test('in a batch, what is held keeps the later ones of its key from their turn, and no others of its partition', async () => {
  let isReady = false
  const handled: string[] = []
  const service = defineService('service', {
    inputs: [input],
    retry: { attempts: 1_000 },
    handleMany: (messages) =>
      messages.map((message) => {
        if (message.key === 'held' && !isReady) return { message, error: new Error('not yet') }
        handled.push(message.value)
        return { message }
      }),
  })
  await using runtime = await testRuntime(service)
  await runtime.send(
    ...['held', 'a', 'held', 'b', 'held', 'a'].map((key, n) =>
      input.message({ key, value: `${n}`, partition: 0 }),
    ),
  )
  await eventually('the others are handled, without a wait', () => handled.length === 3)
  assert.deepEqual(handled.splice(0), ['1', '3', '5'])
  isReady = true
  await settledInTime(runtime)
  assert.deepEqual(handled, ['0', '2', '4'])
})
