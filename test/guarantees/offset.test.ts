import { test } from 'node:test'
import { onKafka } from './on-kafka.ts'
import { oncePerEvent } from './rules.ts'
import { seed } from './scene.ts'

test(`killed again and again, with state by offset and an outbox: each effect is there once, and no output is lost (POLLUX_SEED=${seed})`, async () => {
  await onKafka(
    {
      mechanism: 'offset',
      rules: ({ states }) => oncePerEvent(states),
    },
    (scene) => scene.crashAgainAndAgain(),
  )
})
