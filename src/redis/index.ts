export type { CacheForm } from './cache-arguments.ts'
export { type RedisRateLimitOptions, redisRateLimit } from './rate-limit.ts'
export {
  type RedisCacheOptions,
  type RedisCachePlainOptions,
  redisCache,
  redisCacheOptions,
} from './redis-cache.ts'
export type { RedisConnection } from './redis-connection.ts'
export {
  type RedisPlace,
  type RedisPlaces,
  type RedisPlacesOptions,
  redisPlaces,
} from './redis-places.ts'
