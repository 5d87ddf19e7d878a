// Checked by the compiler alone: each refusal below is an error if the compiler accepts it.
import { z } from 'zod'
import { json } from '../../src/codecs/json.ts'
import { text } from '../../src/codecs/text.ts'
import { defineService } from '../../src/service.ts'
import { postgresTransaction } from '../../src/sql/postgres-transaction.ts'
import { topic } from '../../src/topic.ts'

const Order = z.object({ id: z.string(), amount: z.number() })
const Total = z.object({ sum: z.number() })
const orders = topic('orders', { key: text, value: json(Order) })
const invoices = topic('invoices', { key: text, value: json(Total) })
const parcels = topic('parcels', { key: text, value: json(z.object({ weight: z.number() })) })
const otherInvoices = topic('invoices', { key: text, value: json(z.object({ text: z.string() })) })

defineService('everything', {
  inputs: [orders, parcels],
  outputs: [invoices],
  state: json(Total),
  order: 'key',
  concurrency: 8,
  start: 'latest',
  async handle(message, { state, log, signal }) {
    signal.throwIfAborted()
    const sum = (await state.get())?.sum ?? 0
    if (message.topic === 'parcels') return log.info({ weight: message.value.weight }, 'A parcel')
    await state.put({ sum: sum + message.value.amount })
    return [invoices.message({ key: message.key, value: { sum } })]
  },
})

defineService('nothing returned', { inputs: [orders], handle() {} })

defineService('undeclared output', {
  inputs: [orders],
  outputs: [invoices],
  // @ts-expect-error: parcels is not among the outputs
  handle: ({ key }) => parcels.message({ key, value: { weight: 1 } }),
})

defineService('undeclared output in a list', {
  inputs: [orders],
  outputs: [invoices],
  // @ts-expect-error: parcels is not among the outputs
  handle: async ({ key }) => [parcels.message({ key, value: { weight: 1 } })],
})

defineService('no outputs at all', {
  inputs: [orders],
  // @ts-expect-error: no output is declared
  handle: ({ key }) => invoices.message({ key, value: { sum: 1 } }),
})

defineService('same name, other type', {
  inputs: [orders],
  outputs: [invoices],
  // @ts-expect-error: another topic of that name, with another type
  handle: ({ key }) => otherInvoices.message({ key, value: { text: 'x' } }),
})

defineService('not a message', {
  inputs: [orders],
  outputs: [invoices],
  // @ts-expect-error: a payload is not a message
  handle: () => ({ sum: 1 }),
})

defineService('no state declared', {
  inputs: [orders],
  // @ts-expect-error: there is no state without a codec for it
  handle: async (_, { state }) => void (await state.get()),
})

defineService('wrong state', {
  inputs: [orders],
  state: json(Total),
  // @ts-expect-error: the state has another type
  handle: (_, { state }) => state.put({ total: 1 }),
})

defineService('wrong use of a value', {
  inputs: [orders],
  // @ts-expect-error: the schema has no such field
  handle: ({ value }) => void value.price,
})

// @ts-expect-error: inputs are missing
defineService('no inputs', { handle() {} })

// @ts-expect-error: not an order
defineService('wrong order', { inputs: [orders], order: 'keys', handle() {} })

defineService('many at a time', {
  inputs: [orders, parcels],
  outputs: [invoices],
  batch: 100,
  idempotency: { by: 'event-id', id: ({ key }) => key },
  async handleMany(messages, { log, signal }) {
    signal.throwIfAborted()
    const [first] = messages
    log.info({ key: first.key, count: messages.length }, 'a batch')
    return messages.map((message) =>
      message.topic === 'parcels'
        ? { message, error: new Error('not today') }
        : { message, outputs: invoices.message({ key: message.key, value: { sum: 1 } }) },
    )
  },
})

defineService('many, nothing returned', { inputs: [orders], handleMany() {} })

defineService('undeclared output of many', {
  inputs: [orders],
  outputs: [invoices],
  // @ts-expect-error: parcels is not among the outputs
  handleMany: (messages) =>
    messages.map((message) => ({
      message,
      outputs: parcels.message({ key: message.key, value: { weight: 1 } }),
    })),
})

defineService('result without its message', {
  inputs: [orders],
  // @ts-expect-error: which message it is about is missing
  handleMany: (messages) => messages.map(() => ({ error: new Error('lost') })),
})

// @ts-expect-error: one of them
defineService('both handlers', { inputs: [orders], handle() {}, handleMany() {} })

// @ts-expect-error: there is one message at a time
defineService('batch of one', { inputs: [orders], batch: 5, handle() {} })

// @ts-expect-error: each message of a batch has another key
defineService('many with state', { inputs: [orders], state: json(Total), handleMany() {} })

// @ts-expect-error: versions are kept by key
defineService('many by version', {
  inputs: [orders],
  idempotency: { by: 'version', of: () => 1 },
  handleMany() {},
})

const uses = { db: postgresTransaction }

defineService('scheduled', {
  inputs: [orders],
  outputs: [invoices],
  uses,
  schedule: {
    every: '5m',
    async run({ db, now, log, signal, again }) {
      signal.throwIfAborted()
      const rows = await db.query<{ readonly id: string }>('select id from due where at < $1', [
        now,
      ])
      if (rows.length > 100) again()
      log.info({ rows: rows.length }, 'due')
      return rows.map(({ id }) => invoices.message({ key: id, value: { sum: 1 } }))
    },
  },
  handleMany() {},
})

defineService('undeclared output of a run', {
  inputs: [orders],
  outputs: [invoices],
  uses,
  schedule: {
    // @ts-expect-error: parcels is not among the outputs
    run: () => parcels.message({ key: 'k', value: { weight: 1 } }),
  },
  handle() {},
})

defineService('no transaction for a run', {
  inputs: [orders],
  // @ts-expect-error: nothing was asked for
  schedule: { run: ({ db }) => void db },
  handle() {},
})

defineService('no such time', {
  inputs: [orders],
  uses,
  // @ts-expect-error: not a duration
  schedule: { every: 'daily', run() {} },
  handle() {},
})
