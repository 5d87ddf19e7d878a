import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { z } from 'zod'
import { json, nullable, PolluxError, sidecar, text, topic } from '../../src/index.ts'
import { type RedisCacheOptions, redisCache } from '../../src/redis/index.ts'
import { eventually, ManualClock, testRuntime } from '../../src/testing/index.ts'
import { DatabaseProxy } from '../cases/outage/database-proxy.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { address, redisClient } from './server.ts'

const prefix = `pollux_test_${randomUUID().slice(0, 8)}:`
let client: Awaited<ReturnType<typeof redisClient>>
before(async () => {
  client = await redisClient()
})
after(async () => {
  for await (const keys of client.scanIterator({ MATCH: `*${prefix}*`, COUNT: 1_000 }))
    if (keys.length > 0) await client.unlink(keys)
  await client.close()
})

const Item = z.object({ item: z.string().nullish(), flavor: z.string().nullish() })
const items = topic('items', {
  key: text,
  value: nullable(json(Item)),
  create: { partitions: 1 },
})
type ItemValue = z.infer<typeof Item> | null
const item = (id: string, value: ItemValue, timestamp = 1) =>
  items.message({ key: id, value, timestamp })

let caches = 0
function feed(options: Partial<RedisCacheOptions> = {}, version?: { readonly by: 'timestamp' }) {
  caches += 1
  const own = `${prefix}${caches}:`
  const service = sidecar('feed', {
    ...stopsAtFailure,
    input: items,
    target: redisCache({ url: address, prefix: own, ...options }),
    key: { id: ({ key }) => key },
    columns: { item: 'item', flavor: 'flavor' },
    ...(version === undefined ? {} : { version }),
  })
  return { service, own }
}

test('cases 33, 36 and 42: a hash has the last value of each field; null clears one, a tombstone all', async () => {
  const { service, own } = feed()
  await using runtime = await testRuntime(service)
  await runtime.send(
    item('a', { flavor: 'x' }),
    item('a', { item: 'y' }),
    item('b', { item: 'v1', flavor: 'x' }),
    item('b', { flavor: null }),
    item('b', { item: 'v2' }),
    item('c', { item: 'v1' }),
    item('c', null),
    item('d', null),
  )
  await runtime.settled()
  assert.deepEqual({ ...(await client.hGetAll(`${own}a`)) }, { flavor: 'x', item: 'y' })
  assert.deepEqual({ ...(await client.hGetAll(`${own}b`)) }, { item: 'v2' })
  assert.equal(await client.exists([`${own}c`, `${own}d`]), 0)
})

test('case 34: nothing older comes through, not even after a delete, and a replay changes nothing', async () => {
  const { service, own } = feed({}, { by: 'timestamp' })
  for (let time = 0; time < 2; time += 1) {
    await using runtime = await testRuntime(service)
    await runtime.send(
      item('K1', { item: 'B' }, 200),
      item('K1', { item: 'A' }, 100),
      item('K2', { item: 'C' }, 300),
      item('K2', { item: 'D' }, 300),
      item('K2', null, 250),
      item('K3', { item: 'x' }, 300),
      item('K3', null, 400),
      item('K3', { item: 'old' }, 350),
    )
    await runtime.settled()
    assert.equal(await client.hGet(`${own}K1`, 'item'), 'B')
    assert.equal(await client.hGet(`${own}K2`, 'item'), 'D')
    assert.equal(await client.exists(`${own}K3`), 0)
  }
  assert.ok((await client.pTTL(`pollux:versions:feed:${own}K3`)) > 0)
  assert.equal(await client.pTTL(`pollux:versions:feed:${own}K1`), -1)
})

test('case 55: versions are compared exactly, and JSON has the numbers as they were given', async () => {
  const numbers = topic('numbers', { key: text, value: text, create: { partitions: 1 } })
  const own = `${prefix}exact:`
  const service = sidecar('feed', {
    ...stopsAtFailure,
    input: numbers,
    target: redisCache({ url: address, prefix: own, as: 'json' }),
    key: { id: ({ key }) => key },
    columns: {
      big: ({ value }) => BigInt(value),
      raw: () => Buffer.from('1.10'),
      nothing: () => null,
      absent: () => undefined,
    },
    version: { by: 'field', of: ({ value }) => BigInt(value) },
  })
  await using runtime = await testRuntime(service)
  const put = (value: bigint) => numbers.message({ key: 'k', value: String(value) })
  await runtime.send(put(-5n), put(-6n), put(9007199254740993n), put(9007199254740992n), put(7n))
  await runtime.settled()
  assert.equal(await client.get(`${own}k`), '{"big":9007199254740993,"raw":1.10,"nothing":null}')
})

test('an entry goes when nothing has changed it for its time', async () => {
  const { service, own } = feed({ ttl: '200ms' })
  const asJson = feed({ ttl: '1h', as: 'json' })
  await using runtime = await testRuntime(service)
  await runtime.send(item('a', { item: 'x' }))
  await runtime.settled()
  const left = await client.pTTL(`${own}a`)
  assert.ok(left <= 200, String(left))
  await using other = await testRuntime(asJson.service)
  await other.send(item('a', { item: 'x' }))
  await other.settled()
  assert.ok((await client.pTTL(`${asJson.own}a`)) > 3_500_000)
})

test('case 44: an entry of another kind is its own message’s fault; others are written', async () => {
  const { service, own } = feed()
  await client.set(`${own}b`, 'a text')
  await using runtime = await testRuntime(service)
  await runtime.send(item('a', { item: 'x' }), item('b', { item: 'x' }), item('c', { item: 'x' }))
  await assert.rejects(runtime.settled(), /items\/0\/1 .*WRONGTYPE/)
  assert.equal(await client.hGet(`${own}a`, 'item'), 'x')
  assert.equal(await client.hGet(`${own}c`, 'item'), 'x')
})

test('what a cache cannot do is told at once', () => {
  const of = (): number => 1
  assert.throws(
    () =>
      sidecar('feed', {
        ...stopsAtFailure,
        input: items,
        target: redisCache({ url: address, prefix, as: 'json' }),
        key: { id: ({ key }) => key },
        groups: [
          { columns: { item: 'item' }, version: { by: 'field', of, column: 'rev' } },
          { columns: { flavor: 'flavor' } },
        ],
      }),
    (error) =>
      PolluxError.is(error, 'POLLUX_OPTION_INVALID') &&
      /version\.column: expected none[\s\S]*groups: expected one/.test(error.message),
  )
  assert.throws(() => redisCache({ url: 'x', prefix: '' }), /url: expected[\s\S]*prefix: expected/)
})

test('while the server is away the batch waits, and goes on by itself', async () => {
  const { hostname, port } = new URL(address)
  const proxy = new DatabaseProxy({ host: hostname, port: Number(port || 6379) })
  await proxy.open()
  try {
    const clock = new ManualClock()
    const { service, own } = feed({ url: `redis://127.0.0.1:${proxy.port}` })
    await using runtime = await testRuntime(service, { clock })
    await runtime.send(item('a', { item: '1' }))
    await runtime.settled()
    await proxy.turn('refuse')
    await runtime.send(item('a', { item: '2' }))
    await proxy.turn('pass')
    await eventually('it goes on', async () => {
      await clock.advance(10_000)
      return (await client.hGet(`${own}a`, 'item')) === '2'
    })
    await runtime.settled()
  } finally {
    proxy.close()
  }
})

test('a server that is not there ends the start', async () => {
  const { service } = feed({ url: 'redis://127.0.0.1:1' })
  await assert.rejects(testRuntime(service), (error) =>
    PolluxError.is(error, 'POLLUX_TARGET_UNREACHABLE'),
  )
})
