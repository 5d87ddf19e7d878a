import { test } from 'node:test'
import { oncePerEvent } from './rules.ts'
import { Scene, seed } from './scene.ts'

test(`killed again and again, with state by offset and an outbox: each effect is there once, and no output is lost (POLLUX_SEED=${seed})`, async () => {
  const scene = await Scene.open({
    mechanism: 'offset',
    rules: ({ states }) => oncePerEvent(states),
  })
  try {
    await scene.crashAgainAndAgain(seed)
  } finally {
    await scene.close()
  }
})
