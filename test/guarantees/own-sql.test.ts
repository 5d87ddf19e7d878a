import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from './database.ts'
import { keyOf } from './inputs.ts'
import { type OnKafkaOptions, onKafka } from './on-kafka.ts'
import { oncePerEvent } from './rules.ts'
import { type Scene, seed } from './scene.ts'

const options: OnKafkaOptions = {
  mechanism: 'own-sql',
  rules: ({ rows, stored }) => oncePerEvent(rows, { stored }),
}
const changes = { counts: true }

test(`killed again and again, handlers writing in the unit's transaction: their rows are there once (POLLUX_SEED=${seed})`, async () => {
  await onKafka(options, async (scene, database) => {
    await scene.crashAgainAndAgain(changes)
    await checkCounts(scene, database)
  })
})

test('a message that fails takes back what it wrote, and nothing of others in its transaction', async () => {
  await onKafka(options, async (scene, database) => {
    await scene.feed()
    const process = scene.start('a', undefined, { ...changes, failing: 100 })
    assert.equal(await process.ended(), 1, process.errors)
    const [, transaction = ''] =
      /event 100 fails: transaction (\d+)/.exec(process.errors) ?? assert.fail(process.errors)
    assert.ok((await database.effectsOf(transaction)) > 0, 'others of it have committed')
    const rows = await database.rows()
    assert.ok(!rows.some(({ value }) => value === '100'))
    await scene.witness.check()

    await scene.finish(['a', 'b'].map((name) => () => scene.start(name, undefined, changes)))
    await checkCounts(scene, database)
  })
})

/** What handlers count in rows that they share. */
async function checkCounts({ fed }: Scene, database: Database): Promise<void> {
  const counts = new Map<string, number>()
  for (let event = 0; event < fed; event += 1)
    counts.set(keyOf(event), (counts.get(keyOf(event)) ?? 0) + 1)
  const found = await database.counts()
  assert.deepEqual([...found].sort(), [...counts].sort())
}
