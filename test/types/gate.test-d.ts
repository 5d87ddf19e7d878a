// Checked by the compiler alone: each refusal below is an error if the compiler accepts it.
import { z } from 'zod'
import { fact, gate, gates, json, type Service, text, topic } from '../../src/index.ts'
import { postgresTransaction } from '../../src/postgres/index.ts'
import type { Equal, Expect } from './expect.ts'

declare function checked<_ extends true>(): void

const texts = topic('texts', { key: text, value: text })
const prices = topic('prices', { key: text, value: json(z.object({ amount: z.number() })) })
const ready = topic('ready', { key: text, value: text })
const others = topic('others', { key: text, value: text })

const facts = {
  words: fact(texts, { when: ({ value }) => value.length > 5 }),
  price: fact(prices, { keep: ({ value }) => value.amount }),
}

gate('what is kept is known to open, expire and late', {
  facts,
  outputs: [ready],
  table: 'gates',
  db: postgresTransaction,
  timeout: '1h',
  open(key, kept) {
    checked<Expect<Equal<typeof kept, { readonly price: number }>>>()
    return ready.message({ key, value: kept.price.toFixed(2) })
  },
  expire(key, missing, kept) {
    checked<Expect<Equal<typeof missing, readonly ('words' | 'price')[]>>>()
    checked<Expect<Equal<typeof kept, Partial<{ readonly price: number }>>>>()
    return [ready.message({ key, value: missing.join() })]
  },
  late(_key, late) {
    checked<Expect<Equal<typeof late.fact, 'words' | 'price'>>>()
    if (late.after === 'opened') checked<Expect<Equal<typeof late.facts.price, number>>>()
  },
  key: (message) => (message.topic === 'prices' ? `${message.value.amount}` : message.value),
})

gate('a limit is a number', {
  facts,
  table: 'gates',
  db: postgresTransaction,
  // @ts-expect-error: not a duration
  maxOpen: '1d',
  open() {},
})

gate('outputs are declared', {
  facts,
  outputs: [ready],
  table: 'gates',
  db: postgresTransaction,
  // @ts-expect-error: another topic
  open: (key) => others.message({ key, value: '' }),
})

gate('what is not kept is not there', {
  facts,
  table: 'gates',
  db: postgresTransaction,
  // @ts-expect-error: words has no `keep`
  open: (_key, { words }) => void words,
})

// @ts-expect-error: a table is needed
gate('no table', { facts, db: postgresTransaction, open() {} })

declare const service: Service
declare const pool: { query(text: string, params: unknown[]): Promise<{ readonly rows: object[] }> }

const found = await gates(service, pool).find('key')
checked<Expect<Equal<NonNullable<typeof found>['stage'], 'waiting' | 'opened' | 'expired'>>>()
void gates(service, pool).waiting({ missing: 'price', olderThan: '3h', limit: 10 })

// @ts-expect-error: no duration
void gates(service, pool).waiting({ olderThan: '3 hours' })

// @ts-expect-error: a service, not its name
gates('publishing', pool)
