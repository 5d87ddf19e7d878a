import { fact, gate, type Service } from '../../src/index.ts'
import { postgresTransaction } from '../../src/postgres/index.ts'
import { covers, prices, readyForPrint, texts } from './topics.ts'

/**
 * A book is ready for print when its text is ready, its cover approved and its price set, whatever comes first. Once, though
 * two of these may come at the same instant, and each of them several times.
 */
export const readiness: Service = gate('book-readiness', {
  facts: {
    text_ready: fact(texts, { keep: ({ value }) => value.title }),
    cover_approved: fact(covers, { when: ({ value }) => value.approved }),
    price_set: fact(prices),
  },
  outputs: [readyForPrint],
  table: 'book_readiness',
  db: postgresTransaction,
  open: (book, { text_ready: title }) => readyForPrint.message({ key: book, value: { title } }),
})
