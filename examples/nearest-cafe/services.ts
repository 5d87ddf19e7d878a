import { z } from 'zod'
// In a project of your own these lines read: … from 'pollux', 'pollux/postgres' and 'pollux/redis'
import { delegate, json, nullable, type Service, text, topic } from '../../src/index.ts'
import type { PlacesTable } from '../../src/postgres/index.ts'
import type { RedisPlaces } from '../../src/redis/index.ts'

const Point = z.object({
  latitude: z.number().min(-85).max(85),
  longitude: z.number().min(-180).max(180),
})

/** Where each café is, by its name. A tombstone means that it has closed for good. */
export const cafes = topic('cafes', {
  key: text,
  value: nullable(json(Point)),
  create: { partitions: 4, config: { 'cleanup.policy': 'compact' } },
})

/** Where somebody is who wants coffee, by the number of the request. */
export const requests = topic('coffee-requests', { key: text, value: json(Point) })

/** The nearest cafés, by the number of the request, and who has found them. */
export const answers = topic('coffee-answers', {
  key: text,
  value: json(
    z.object({
      by: z.string(),
      cafes: z.array(z.object({ id: z.string(), distance: z.number() })),
    }),
  ),
})

/** Keeps all cafés in both indexes. No two messages of a batch have the same key. */
export function keepCafes(redis: RedisPlaces, table: PlacesTable): Service {
  return delegate('keep-cafes', {
    input: cafes,
    async callMany(messages) {
      const open = messages.flatMap(({ key, value }) => (value ? [{ id: key, ...value }] : []))
      const closed = messages.flatMap(({ key, value }) => (value ? [] : [key]))
      await Promise.all([redis.add(open), table.upsert(open)])
      await Promise.all([redis.remove(closed), table.remove(closed)])
      return messages.map(() => undefined)
    },
    batch: { size: 500, wait: '20ms' },
    concurrency: 2_000,
  })
}

/** Answers by one of the indexes: the three nearest within 50 km. */
export function findCafes(by: string, index: Pick<RedisPlaces | PlacesTable, 'nearest'>): Service {
  return delegate(`find-cafes-by-${by}`, {
    input: requests,
    outputs: [answers],
    call: ({ value }) => index.nearest({ ...value, within: 50_000, limit: 3 }),
    handle: (found, { key }) => answers.message({ key, value: { by, cafes: [...found] } }),
    timeLimit: '2s',
  })
}
