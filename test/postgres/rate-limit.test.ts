import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import type { PolluxError } from '../../src/index.ts'
import { postgresRateLimit } from '../../src/postgres/index.ts'
import { systemClock } from '../../src/system-clock.ts'
import { sharedRateTests } from '../patterns/delegate/shared-rate.ts'
import { ask, freshName, server } from './server.ts'

const schema = freshName()
const db = new pg.Pool({ ...server, max: 4 })

after(async () => {
  await ask(`drop schema if exists ${schema} cascade`)
  await db.end()
})

test('the table is made when it is missing, also by several at once', async () => {
  const limits = Array.from({ length: 8 }, (_, index) =>
    postgresRateLimit({ db, schema, name: `made-${index}`, calls: 1 }),
  )
  assert.deepEqual(
    await Promise.all(limits.map(async (limit) => await limit.reserve(systemClock))),
    limits.map(() => 0),
  )
})

sharedRateTests((name, rate) => postgresRateLimit({ db, schema, name, ...rate }))

test('everything that is wrong with its options is said at once', () => {
  const wrong = { db: {}, calls: 0, per: 'soon', schema: 'No' }
  assert.throws(
    () => postgresRateLimit(wrong as never),
    (error: PolluxError) => {
      assert.equal(error.code, 'POLLUX_OPTION_INVALID')
      for (const said of [/db: expected a pool/, /calls: /, /per: /, /schema: /, /name: /])
        assert.match(error.message, said)
      return true
    },
  )
})
