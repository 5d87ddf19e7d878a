import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PolluxError } from '../../src/index.ts'
import { redisRateLimit } from '../../src/redis/index.ts'
import { systemClock } from '../../src/system-clock.ts'
import { sharedRateTests } from '../patterns/delegate/shared-rate.ts'
import { redisClient } from './server.ts'

const prefix = `pollux-test:${process.pid}:`
let redis: Awaited<ReturnType<typeof redisClient>>

before(async () => {
  redis = await redisClient()
})
after(async () => {
  for (const key of await redis.keys(`${prefix}*`)) await redis.del(key)
  await redis.close()
})

sharedRateTests((name, rate) => redisRateLimit({ redis, prefix, name, ...rate }))

test('the key goes by itself when nobody calls', async () => {
  await redisRateLimit({ redis, prefix, name: 'rest', calls: 1, per: '5s' }).reserve(systemClock)
  const left = await redis.pTTL(`${prefix}rest`)
  assert.ok(left > 4_000 && left <= 6_100, `${left}`)
})

test('everything that is wrong with its options is said at once', () => {
  assert.throws(
    () => redisRateLimit({ redis: {}, calls: 0, burst: -1 } as never),
    (error: PolluxError) => {
      assert.equal(error.code, 'POLLUX_OPTION_INVALID')
      for (const said of [/redis: expected a client/, /calls: /, /burst: /, /name: /])
        assert.match(error.message, said)
      return true
    },
  )
})
