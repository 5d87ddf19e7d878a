import { z } from 'zod'
// In a project of your own these lines read: … from 'pollux' and 'pollux/postgres'
import { delegate, json, type Service, text, topic } from '../../src/index.ts'
import type { PgvectorTable } from '../../src/postgres/index.ts'
import { embed } from './embed.ts'

const Book = z.object({ title: z.string(), description: z.string(), revision: z.int() })

/** Books and what they are about, by their ids. Who corrects a description sends the next revision. */
export const books = topic('books', {
  key: text,
  value: json(Book),
  create: { partitions: 4, config: { 'cleanup.policy': 'compact' } },
})

/** For each revision of a book that came: the books most like it of all that were known by then, the most similar first. */
export const similarBooks = topic('similar-books', {
  key: text,
  value: json(
    z.object({
      title: z.string(),
      revision: z.int(),
      similar: z.array(z.object({ id: z.string(), similarity: z.number() })),
    }),
  ),
})

/** Puts each book into the index, and asks the index for the three books nearest to it. */
export function indexBooks(table: PgvectorTable): Service {
  return delegate('index-books', {
    input: books,
    outputs: [similarBooks],
    async callMany(messages) {
      // In the index, an older revision that comes late changes nothing.
      const rows = messages.map(({ key, value: { description, revision } }) => ({
        id: key,
        embedding: embed(description),
        version: revision,
      }))
      await table.upsert(rows)
      return Promise.all(
        rows.map(async ({ id, embedding }) => {
          // It is in there itself, and need not be the first: others may have the same words.
          const nearest = await table.nearest(embedding, { limit: 4 })
          return nearest.filter((found) => found.id !== id).slice(0, 3)
        }),
      )
    },
    handle: (nearest, { key, value: { title, revision } }) =>
      similarBooks.message({
        key,
        value: {
          title,
          revision,
          similar: nearest.map(({ id, distance }) => ({ id, similarity: 1 - distance })),
        },
      }),
    batch: { size: 32, wait: '20ms' },
  })
}
