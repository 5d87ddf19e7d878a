import { z } from 'zod'
import {
  delegate,
  httpCall,
  json,
  router,
  type Service,
  type Topic,
  text,
  topic,
} from '../../src/index.ts'

const Review = z.object({ item: z.string(), text: z.string() })
type ReviewTopic<Name extends string> = Topic<Name, string, z.infer<typeof Review>>

function reviewTopic<const Name extends string>(name: Name): ReviewTopic<Name> {
  return topic(name, { key: text, value: json(Review) })
}

/** Reviews of all languages, by their ids. The header `language` says which. */
export const reviews = reviewTopic('reviews')
export const english = reviewTopic('reviews.english')
export const others = reviewTopic('reviews.others')
/** From -1, bad, to 1, good. */
export const moods = topic('reviews.moods', {
  key: text,
  value: json(z.object({ item: z.string(), mood: z.number() })),
})

/** Looks at headers alone: no review is decoded, and all pass byte for byte. */
export const sortByLanguage: Service = router('sort-by-language', {
  input: reviews,
  routes: [{ when: { headers: (headers) => headers.get('language') === 'en' }, to: english }],
  otherwise: others,
})

/** Asks a model about up to twenty reviews at once, and no more often than ten times a second. */
export function feelMoods(model: string): Service {
  return delegate('feel-moods', {
    input: english,
    outputs: [moods],
    callMany: (messages, context) =>
      httpCall(context, {
        url: model,
        body: messages.map(({ value }) => value.text),
        response: json(z.array(z.number())),
      }),
    handle: (mood, { key, value }) => moods.message({ key, value: { item: value.item, mood } }),
    batch: { size: 20, wait: '20ms' },
    timeLimit: '5s',
    rateLimit: { calls: 10, per: '1s', burst: 5 },
  })
}
