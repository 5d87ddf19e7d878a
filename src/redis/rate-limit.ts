import { checkMethods, checkObject, Problems, readOptions, text } from '../options.ts'
import type { RateLimiter } from '../ports/rate-limiter.ts'
import { type Rate, type RateOptions, rateOptions, spacingOf } from '../rate.ts'
import type { RedisConnection } from './redis-connection.ts'

/** What `redisRateLimit` takes. */
export interface RedisRateLimitOptions extends RateOptions {
  readonly redis: RedisConnection
  /** What is limited. All who give the same name share a limit, and should give the same numbers. */
  readonly name: string
  /** Stands in front of the name in the key. Default `pollux:rate:`. */
  readonly prefix?: string
}

/**
 * A rate limit that processes share by a key in Redis. A turn is one script, by the server's clock; the key goes by itself
 * when nobody has called for a while.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function redisRateLimit(options: RedisRateLimitOptions): RateLimiter {
  checkObject('redisRateLimit()', options, '{ redis, name, calls, per }')
  const { redis, ...plain } = options
  const problems = new Problems()
  checkMethods('redis', redis, ['sendCommand'], 'a client of @redis/client', problems)
  const { name, prefix, ...rate } = readOptions<Rate & { name: string; prefix: string }>(
    { ...rateOptions, name: nameOption, prefix: prefixOption },
    plain,
    problems,
    ['redis'],
  )
  if (plain.name === undefined) problems.add('name: expected what is limited, found nothing')
  problems.throwIfAny('The options of redisRateLimit() are wrong')
  const { interval, tolerance } = spacingOf(rate)
  const microseconds = [interval, tolerance].map((ms) => String(ms * 1_000))
  const command = ['EVAL', turn, '1', `${prefix}${name}`, ...microseconds]
  return { reserve: async () => Number(await redis.sendCommand(command)) }
}

const nameOption = text({ default: '', help: 'What is limited.' })
const prefixOption = text({
  default: 'pollux:rate:',
  help: 'Stands in front of the name in the key.',
})

/** In microseconds, but for what it returns. Numbers are written out, as Redis would round them. */
const turn = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now) + tonumber(ARGV[1])
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil((full - now) / 1000) + 1000)
return string.format('%.3f', math.max(0, full - tonumber(ARGV[2]) - now) / 1000)`
