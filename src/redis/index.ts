export { type RedisRateLimitOptions, redisRateLimit } from './rate-limit.ts'
export type { RedisConnection } from './redis-connection.ts'
export {
  type RedisPlace,
  type RedisPlaces,
  type RedisPlacesOptions,
  redisPlaces,
} from './redis-places.ts'
