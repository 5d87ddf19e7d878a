import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { redisPlaces } from '../../src/redis/index.ts'
import { aroundDelft, cities, delft, inKilometres } from '../patterns/delegate/cities.ts'
import { redisClient } from './server.ts'

const key = `pollux-test:${process.pid}:cities`
let redis: Awaited<ReturnType<typeof redisClient>>

before(async () => {
  redis = await redisClient()
})
after(async () => {
  await redis.del(key)
  await redis.close()
})

test('places within a distance are found, nearest first, in metres', async () => {
  const places = redisPlaces({ redis, key })
  await places.add(cities)
  const found = await places.nearest({ ...delft, within: 20_000 })
  assert.deepEqual(inKilometres(found), aroundDelft)
  assert.equal((await places.nearest({ ...delft, within: 20_000, limit: 1 })).length, 1)
  assert.deepEqual(await places.nearest({ ...delft, within: 1_000 }), [])
  await places.remove([found[0]?.id ?? ''])
  assert.equal((await places.nearest({ ...delft, within: 20_000 })).length, 1)
  await places.add([])
  await places.remove([])
})

test('everything that is wrong with the options is said at once', () => {
  assert.throws(() => redisPlaces({} as never), /redis: expected[\s\S]*key: expected a name/)
})
