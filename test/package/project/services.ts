// A user's program, type-checked and run against the installed package.
import {
  bytes,
  type Duration,
  defineService,
  json,
  type Message,
  type MessageOf,
  nullable,
  PolluxError,
  type Runtime,
  run,
  text,
  topic,
} from 'pollux'
import { embeddedBroker } from 'pollux/embedded'
import { kafka } from 'pollux/kafka'
import { postgres, postgresTransaction } from 'pollux/postgres'
import { testRuntime } from 'pollux/testing'
import { z } from 'zod'

const Order = z.object({ id: z.string(), amount: z.number() })
export const orders = topic('orders', { key: text, value: json(Order) })
export const totals = topic('totals', { key: text, value: json(z.object({ sum: z.number() })) })
export const raw = topic('raw', { value: nullable(bytes) })

export const totalling = defineService('totalling', {
  inputs: [orders],
  outputs: [totals],
  state: json(z.object({ sum: z.number() })),
  async handle(order, { state, log }) {
    const sum = ((await state.get())?.sum ?? 0) + order.value.amount
    await state.put({ sum })
    log.debug({ sum }, 'added')
    return totals.message({ key: order.key, value: { sum } })
  },
})

defineService('wrong', {
  inputs: [orders],
  // @ts-expect-error: an output that is not declared
  handle: ({ key }) => totals.message({ key, value: { sum: 1 } }),
})

export const booking = defineService('booking', {
  inputs: [orders],
  uses: { db: postgresTransaction },
  async handle({ value }, { db }) {
    const [row] = await db.query<{ id: string }>('insert into o values ($1) returning id', [
      value.id,
    ])
    if (row?.id !== value.id) throw new Error('not booked')
  },
})

export const wait: Duration = '200ms'
export const describe = ({ topic: name }: Message): string => name
export const amountOf = ({ value }: MessageOf<typeof orders>): number => value.amount
export const start = (): Promise<Runtime> => run(totalling, { broker: embeddedBroker() })

await using runtime = await testRuntime(totalling)
await runtime.send(
  orders.message({ key: 'a', value: { id: '1', amount: 40 } }),
  orders.message({ key: 'a', value: { id: '2', amount: 2 } }),
)
await runtime.settled()
console.log('sum', (await runtime.messages(totals)).at(-1)?.value.sum)

try {
  await kafka({ brokers: ['127.0.0.1:9'] }).connect()
} catch (error) {
  console.log(PolluxError.is(error) ? error.code : error)
}

try {
  await postgres({ connectionString: 'postgres://127.0.0.1:9/shop' }).open()
} catch (error) {
  console.log('postgres', PolluxError.is(error) ? error.code : error)
}
