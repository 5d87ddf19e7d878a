const index = new URL('../../src/index.ts', import.meta.url).href
const postgres = new URL('../../src/postgres/index.ts', import.meta.url).href

/** A module with the gate `publishing` of the facts `words` and `price`, which keeps the price, in this table. */
export function gateModule(table: string): string {
  return `
import { defineService, fact, gate, json, text, topic } from '${index}'
import { postgresTransaction } from '${postgres}'
import { z } from '${import.meta.resolve('zod')}'
export const words = topic('words', { key: text, value: text })
export const prices = topic('prices', { key: text, value: json(z.number()) })
export const publishing = gate('publishing', {
  facts: { words: fact(words), price: fact(prices, { keep: ({ value }) => value }) },
  table: '${table}',
  db: postgresTransaction,
  timeout: '7d',
  open() {},
})
export const other = defineService('other', { inputs: [words], handle() {} })
`
}
