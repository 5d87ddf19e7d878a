export { type RedisRateLimitOptions, redisRateLimit } from './rate-limit.ts'
export type { RedisConnection } from './redis-connection.ts'
