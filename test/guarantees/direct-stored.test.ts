import { test } from 'node:test'
import { oncePerEvent } from './rules.ts'
import { Scene, seed } from './scene.ts'

test(`killed again and again, published before it is stored: effects are there once, no output is lost, and no id names two contents (POLLUX_SEED=${seed})`, async () => {
  const scene = await Scene.open({
    mechanism: 'direct-stored',
    rules: ({ states }) => oncePerEvent(states),
  })
  try {
    await scene.crashAgainAndAgain(seed)
  } finally {
    await scene.close()
  }
})
