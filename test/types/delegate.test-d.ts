// Checked by the compiler alone: each refusal below is an error if the compiler accepts it.
import { z } from 'zod'
import { delegate, httpCall, json, text, topic } from '../../src/index.ts'
import type { Equal, Expect } from './expect.ts'

const Order = z.object({ amount: z.number() })
const orders = topic('orders', { key: text, value: json(Order) })
const scores = topic('scores', { key: text, value: json(z.object({ score: z.number() })) })
const names = topic('names', { key: text, value: text })

delegate('one by one', {
  input: orders,
  outputs: [scores],
  call: async ({ value }, { signal, idempotencyKey, attempt }) => {
    signal.throwIfAborted()
    return value.amount + attempt + idempotencyKey.length
  },
  handle: (score, { key }) => {
    const sure: Expect<Equal<typeof score, number>> = true
    return sure && scores.message({ key, value: { score } })
  },
  timeLimit: '5s',
  attempts: 'endless',
  breaker: { pause: '2s' },
  rateLimit: { calls: 5, per: '1s' },
  cache: { by: ({ value }) => String(value.amount), lifetime: '1h' },
  classify: (error) => (error === 'busy' ? { kind: 'overload', after: 5 } : undefined),
  idempotency: { by: 'version', of: ({ value }) => value.amount },
  concurrency: 8,
})

delegate('many at once', {
  input: orders,
  outputs: [scores],
  callMany: async (messages, { idempotencyKeys }) =>
    messages.map(({ value }, index) => value.amount + (idempotencyKeys[index]?.length ?? 0)),
  batch: { size: 8, wait: '5ms' },
  handle: (score, { key }) => scores.message({ key, value: { score } }),
})

delegate('nothing to publish', { input: orders, call: () => undefined })

delegate('undeclared output', {
  input: orders,
  outputs: [scores],
  call: () => 'Ann',
  // @ts-expect-error: names is not among the outputs
  handle: (name, { key }) => names.message({ key, value: name }),
})

delegate('wrong use of a result', {
  input: orders,
  call: () => 5,
  // @ts-expect-error: a number has no such method
  handle: (score) => void score.trim(),
})

delegate('wrong use of a value', {
  input: orders,
  // @ts-expect-error: the schema has no such field
  call: ({ value }) => value.price,
})

// @ts-expect-error: one or the other
delegate('both', { input: orders, call: () => 1, callMany: async () => [1] })

// @ts-expect-error: there is nobody to call
delegate('neither', { input: orders })

// @ts-expect-error: batches are of callMany
delegate('a batch of one', { input: orders, call: () => 1, batch: { size: 2 } })

// @ts-expect-error: not a duration
delegate('wrong duration', { input: orders, call: () => 1, timeLimit: '10 seconds' })

delegate('by HTTP', {
  input: orders,
  outputs: [scores],
  call: ({ key, value }, context) =>
    httpCall(context, {
      url: `http://localhost/score/${key}`,
      body: { amount: value.amount },
      response: json(z.object({ score: z.number() })),
    }),
  handle: ({ score }, { key }) => scores.message({ key, value: { score } }),
})

delegate('by HTTP, without a codec', {
  input: orders,
  call: (_, context) => httpCall(context, { url: 'http://localhost/' }),
  handle: (answer) => void answer.subarray(1),
})

delegate('many by HTTP', {
  input: orders,
  outputs: [scores],
  callMany: (messages, context) =>
    httpCall(context, {
      url: 'http://localhost/scores',
      body: messages.map(({ value }) => value.amount),
      response: json(z.array(z.number())),
    }),
  handle: (score, { key }) => scores.message({ key, value: { score } }),
})
