export type { CacheForm } from './cache-arguments.ts'
export {
  type RedisCacheOptions,
  type RedisCachePlainOptions,
  redisCache,
  redisCacheOptions,
} from './redis-cache.ts'
