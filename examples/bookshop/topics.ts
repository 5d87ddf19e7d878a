import { z } from 'zod'
// In a project of your own this line reads: … from 'pollux'
import { json, type Topic, text, topic } from '../../src/index.ts'

// What travels through the shop. The key is the book's number, of reviews and invoices their own.

// A topic of Kafka forgets after a week unless told otherwise.
export const keepAll = { partitions: 4, config: { 'retention.ms': '-1' } }
// As long as the ids of orders are remembered, see orders.ts.
const keepYear = { partitions: 4, config: { 'retention.ms': String(365 * 86_400_000) } }

const Text = z.object({ title: z.string(), pages: z.int() })
const Cover = z.object({ artist: z.string(), approved: z.boolean() })
/** The amount is a text, so that no digit of it is lost. Each change of a price has a higher revision. */
const Price = z.object({ amount: z.string(), currency: z.string(), revision: z.int() })
const Order = z.object({ customer: z.string(), copies: z.int().positive(), cents: z.int() })
const Review = z.object({ book: z.string(), text: z.string() })

export const texts = topic('shop.texts', { key: text, value: json(Text), create: keepAll })
export const covers = topic('shop.covers', { key: text, value: json(Cover), create: keepAll })
export const prices = topic('shop.prices', { key: text, value: json(Price), create: keepAll })
export const readyForPrint = topic('shop.ready-for-print', {
  key: text,
  value: json(z.object({ title: z.string() })),
  create: keepAll,
})

export const orders = topic('shop.orders', { key: text, value: json(Order), create: keepYear })
export const invoices = topic('shop.invoices', {
  key: text,
  value: json(z.object({ order: z.string(), book: z.string(), cents: z.int() })),
  create: keepAll,
})
export const reprints = topic('shop.reprints', {
  key: text,
  value: json(z.object({ sold: z.int() })),
  create: keepAll,
})

type ReviewTopic<Name extends string> = Topic<Name, string, z.infer<typeof Review>>

function reviewTopic<const Name extends string>(name: Name): ReviewTopic<Name> {
  return topic(name, { key: text, value: json(Review), create: keepAll })
}

/** Reviews of all languages. The header `language` says which. */
export const reviews = reviewTopic('shop.reviews')
export const englishReviews = reviewTopic('shop.reviews.english')
export const otherReviews = reviewTopic('shop.reviews.others')
/** From -1, bad, to 1, good. */
export const moods = topic('shop.moods', {
  key: text,
  value: json(z.object({ book: z.string(), mood: z.number() })),
  create: keepAll,
})
