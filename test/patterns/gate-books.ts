import { z } from 'zod'
import { fact, gate, json, type Service, text, topic } from '../../src/index.ts'
import type { GateDefinition } from '../../src/patterns/gate/definition.ts'
import { postgresTransaction } from '../../src/sql/postgres-transaction.ts'

const create = { partitions: 3 }
export const textReady = topic('text-ready', { key: text, value: text, create })
export const coverApproved = topic('cover-approved', { key: text, value: text, create })
export const priceSet = topic('price-set', { key: text, value: json(z.number()), create })
export const rightsCleared = topic('rights-cleared', { key: text, value: text, create })
export const books = topic('books', { key: text, value: text, create: { partitions: 1 } })

export const booksFacts = {
  text: fact(textReady),
  cover: fact(coverApproved),
  price: fact(priceSet, { keep: ({ value }) => value }),
  rights: fact(rightsCleared, { keep: ({ value }) => ({ until: value }) }),
}

/** What the tests of a gate may choose. */
export type BooksOptions = Partial<GateDefinition<typeof booksFacts, readonly [typeof books]>>

/** A gate of four facts, which tells in `books` what became of each book. */
export function booksGate(name: string, table: string, options: BooksOptions = {}): Service {
  return gate(name, {
    facts: booksFacts,
    outputs: [books],
    table,
    db: postgresTransaction,
    open: (key, { price, rights }) =>
      books.message({ key, value: `opened ${price} ${rights.until}` }),
    ...options,
  })
}

/** The messages of all facts of a book. */
export const factsOf = (key: string) =>
  [
    textReady.message({ key, value: 'a text' }),
    coverApproved.message({ key, value: 'a cover' }),
    priceSet.message({ key, value: 12 }),
    rightsCleared.message({ key, value: '2030' }),
  ] as const
