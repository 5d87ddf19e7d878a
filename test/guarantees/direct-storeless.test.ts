import { test } from 'node:test'
import { oncePerEvent } from './rules.ts'
import { Scene, seed } from './scene.ts'

test(`killed again and again, without a store: each input has its output at least once (POLLUX_SEED=${seed})`, async () => {
  const scene = await Scene.open({ mechanism: 'direct', rules: () => oncePerEvent(undefined) })
  try {
    await scene.crashAgainAndAgain(seed)
  } finally {
    await scene.close()
  }
})
