import { shown } from '../errors.ts'
import { checkMethods, checkObject, Problems } from '../options.ts'
import type { RedisConnection } from './redis-connection.ts'

/** What `redisPlaces` takes. */
export interface RedisPlacesOptions {
  readonly redis: RedisConnection
  /** The sorted set that holds them. */
  readonly key: string
}

/** A point on the earth, in degrees. */
export interface RedisPlace {
  readonly latitude: number
  readonly longitude: number
}

/** Places in Redis. There is no version: the last write stands. */
export interface RedisPlaces {
  add(places: readonly (RedisPlace & { readonly id: string })[]): Promise<void>
  /** Those within so many metres, nearest first, at most `limit` (default 10). `distance` in metres. */
  nearest(
    from: RedisPlace & { readonly within: number; readonly limit?: number },
  ): Promise<readonly { readonly id: string; readonly distance: number }[]>
  remove(ids: readonly string[]): Promise<void>
}

/**
 * Places in a sorted set of Redis, by its GEO commands. Redis rounds a position to about half a metre, and takes latitudes up
 * to 85.05 degrees.
 * @throws POLLUX_OPTION_INVALID
 */
export function redisPlaces(options: RedisPlacesOptions): RedisPlaces {
  checkObject('redisPlaces()', options, '{ redis, key }')
  const { redis, key } = options
  const problems = new Problems()
  checkMethods('redis', redis, ['sendCommand'], 'a client of @redis/client', problems)
  if (typeof key !== 'string' || key === '')
    problems.add(`key: expected a name, found ${shown(key)}`)
  problems.throwIfAny('The options of redisPlaces() are wrong')
  return {
    async add(places) {
      if (places.length === 0) return
      const fields = places.flatMap(({ id, longitude, latitude }) => [
        String(longitude),
        String(latitude),
        id,
      ])
      await redis.sendCommand(['GEOADD', key, ...fields])
    },
    async nearest({ longitude, latitude, within, limit = 10 }) {
      const from = ['FROMLONLAT', String(longitude), String(latitude)]
      const how = ['BYRADIUS', String(within), 'm', 'ASC', 'COUNT', String(limit), 'WITHDIST']
      const found = await redis.sendCommand(['GEOSEARCH', key, ...from, ...how])
      return (found as [string, string][]).map(([id, distance]) => ({
        id,
        distance: Number(distance),
      }))
    },
    async remove(ids) {
      if (ids.length > 0) await redis.sendCommand(['ZREM', key, ...ids])
    },
  }
}
