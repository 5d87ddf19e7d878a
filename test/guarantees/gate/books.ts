import { z } from 'zod'
import { fact, gate, json, type Service, text, topic } from '../../../src/index.ts'
import { postgresTransaction } from '../../../src/postgres/index.ts'

/** The service of a proof, its topics and its schema are named after it. */
export function booksOf(name: string) {
  const textReady = topic(`${name}-text-ready`, { key: text, value: text })
  const coverApproved = topic(`${name}-cover-approved`, { key: text, value: text })
  const priceSet = topic(`${name}-price-set`, { key: text, value: json(z.int()) })
  const published = topic(`${name}-published`, { key: text, value: json(z.int()) })
  const service: Service = gate(name, {
    facts: {
      text: fact(textReady),
      cover: fact(coverApproved),
      price: fact(priceSet, { keep: ({ value }) => value }),
    },
    outputs: [published],
    table: `${name}.book_readiness`,
    db: postgresTransaction,
    open: (book, { price }) => published.message({ key: book, value: price }),
  })
  const messages = [
    (key: string) => textReady.message({ key, value: 'a text' }),
    (key: string) => coverApproved.message({ key, value: 'a cover' }),
    (key: string) => priceSet.message({ key, value: priceOf(key) }),
  ] as const
  return { service, inputs: [textReady, coverApproved, priceSet] as const, published, messages }
}

/** What a book costs: so much that it shows which book it is of. */
export function priceOf(book: string): number {
  return Number(book.slice(book.indexOf('-') + 1))
}
