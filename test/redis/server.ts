import { createClient } from '@redis/client'

const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env

/** A client of the server that tests use. The caller closes it. */
export async function redisClient() {
  const client = createClient({ url: REDIS_URL })
  client.on('error', () => {})
  await client.connect()
  return client
}
