import { createClient } from '@redis/client'

const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env

/** The server that tests use: by REDIS_URL, else the local one. */
export const address: string = REDIS_URL

/** A client of the server that tests use. The caller closes it. */
export async function redisClient() {
  const client = createClient({ url: REDIS_URL })
  client.on('error', () => {})
  await client.connect()
  return client
}
