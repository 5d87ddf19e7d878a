import { test } from 'node:test'
import { movesAbout, withCopies } from './inputs.ts'
import { oncePerEvent } from './rules.ts'
import { Scene, seed } from './scene.ts'

test(`killed again and again, by event ids, producers writing events several times: each has its effect once (POLLUX_SEED=${seed})`, async () => {
  const scene = await Scene.open({
    mechanism: 'event-id',
    inputsOf: withCopies,
    // A copy is passed over while the output of its original may still wait in the store.
    rules: ({ states, stored }) =>
      oncePerEvent(states, { stored, isOrdered: (key) => !movesAbout(key) }),
  })
  try {
    await scene.crashAgainAndAgain(seed)
  } finally {
    await scene.close()
  }
})
