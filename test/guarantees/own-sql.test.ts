import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf } from './inputs.ts'
import { oncePerEvent } from './rules.ts'
import { Scene, seed } from './scene.ts'

test(`killed again and again, handlers writing in the unit's transaction: their rows are there once (POLLUX_SEED=${seed})`, async () => {
  const scene = await Scene.open({ mechanism: 'own-sql', rules: ({ rows }) => oncePerEvent(rows) })
  try {
    await scene.crashAgainAndAgain(seed, { counts: true })
    await checkCounts(scene)
  } finally {
    await scene.close()
  }
})

test('a message that fails takes back what it wrote, and nothing of others in its transaction', async () => {
  const scene = await Scene.open({ mechanism: 'own-sql', rules: ({ rows }) => oncePerEvent(rows) })
  try {
    const failing = 100
    await scene.feed()
    const process = scene.start('a', undefined, { counts: true, failing })
    assert.equal(await process.ended(), 1, process.errors)
    const [, transaction = ''] =
      /event 100 fails: transaction (\d+)/.exec(process.errors) ?? assert.fail(process.errors)
    assert.ok((await scene.database.effectsOf(transaction)) > 0, 'others of it have committed')
    const rows = await scene.database.rows()
    assert.ok(!rows.some(({ value }) => value === `${failing}`))
    await scene.witness.check()

    const members = ['a', 'b'].map((name) => () => scene.start(name, undefined, { counts: true }))
    await scene.finish(members)
    await checkCounts(scene)
  } finally {
    await scene.close()
  }
})

/** What handlers count in rows that they share. */
async function checkCounts(scene: Scene): Promise<void> {
  const counts = new Map<string, number>()
  for (let event = 0; event < scene.fed; event += 1)
    counts.set(keyOf(event), (counts.get(keyOf(event)) ?? 0) + 1)
  const found = await scene.database.counts()
  assert.deepEqual([...found].sort(), [...counts].sort())
}
