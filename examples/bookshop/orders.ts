import { z } from 'zod'
import { defineService, json, type OutputMessage } from '../../src/index.ts'
import { invoices, orders, reprints } from './topics.ts'

/** So many copies are one print run. */
const printRun = 100

/** What is known of a book: how often it was ordered, and how many copies. */
export const Sales = z.object({ orders: z.int(), copies: z.int() })

/**
 * Counts what is sold of each book, invoices each order, and has more printed in time. An order that is sent again, as web shops
 * do when they hear no answer, has the same id and no second effect: nothing is counted, invoiced or printed twice. Count,
 * invoice and position are stored in one transaction; what is stored goes out, also after a crash.
 */
export const sellBooks = defineService('sell-books', {
  inputs: [orders],
  outputs: [invoices, reprints],
  state: json(Sales),
  idempotency: { by: 'event-id', window: '366d' },
  publish: 'outbox',
  async handle({ id, key: book, value: { copies, cents } }, { state }) {
    const before = (await state.get()) ?? { orders: 0, copies: 0 }
    const sold = before.copies + copies
    await state.put({ orders: before.orders + 1, copies: sold })
    const outputs: OutputMessage<typeof invoices | typeof reprints>[] = [
      invoices.message({ key: id, value: { order: id, book, cents: copies * cents } }),
    ]
    if (Math.floor(sold / printRun) > Math.floor(before.copies / printRun))
      outputs.push(reprints.message({ key: book, value: { sold } }))
    return outputs
  },
})
