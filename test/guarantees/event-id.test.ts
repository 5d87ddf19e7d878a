import { test } from 'node:test'
import { movesAbout, withCopies } from './inputs.ts'
import { onKafka } from './on-kafka.ts'
import { oncePerEvent } from './rules.ts'
import { seed } from './scene.ts'

test(`killed again and again, by event ids, producers writing events several times: each has its effect once (POLLUX_SEED=${seed})`, async () => {
  await onKafka(
    {
      mechanism: 'event-id',
      inputsOf: withCopies,
      // A copy is passed over while the output of its original may still wait in the store.
      rules: ({ states, stored }) =>
        oncePerEvent(states, { stored, isOrdered: (key) => !movesAbout(key) }),
    },
    (scene) => scene.crashAgainAndAgain(),
  )
})
