import { z } from 'zod'
import { delegate, httpCall, json, router, type Service } from '../../src/index.ts'
import { englishReviews, moods, otherReviews, reviews } from './topics.ts'

/** Looks at headers alone: no review is decoded, and all pass byte for byte. */
export const sortByLanguage: Service = router('sort-by-language', {
  input: reviews,
  routes: [
    { when: { headers: (headers) => headers.get('language') === 'en' }, to: englishReviews },
  ],
  otherwise: otherReviews,
})

/**
 * Asks a model about up to twelve reviews at once, and no more often than ten times a second. A model that has too much to do is
 * left alone for as long as it asks, and one that is away is asked again until it is back.
 */
export function feelMoods(model: string): Service {
  return delegate('feel-moods', {
    input: englishReviews,
    outputs: [moods],
    callMany: (messages, context) =>
      httpCall(context, {
        url: model,
        body: messages.map(({ value }) => value.text),
        response: json(z.array(z.number())),
      }),
    handle: (mood, { key, value }) => moods.message({ key, value: { book: value.book, mood } }),
    batch: { size: 12, wait: '100ms' },
    timeLimit: '5s',
    rateLimit: { calls: 10, per: '1s', burst: 5 },
    attempts: 'endless',
    backoff: { base: '100ms', max: '5s' },
    breaker: { calls: 5, pause: '500ms' },
  })
}
