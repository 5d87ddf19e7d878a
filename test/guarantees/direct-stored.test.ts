import { test } from 'node:test'
import { onKafka } from './on-kafka.ts'
import { oncePerEvent } from './rules.ts'
import { seed } from './scene.ts'

test(`killed again and again, published before it is stored: effects are there once, no output is lost, and no id names two contents (POLLUX_SEED=${seed})`, async () => {
  await onKafka(
    {
      mechanism: 'direct-stored',
      rules: ({ states }) => oncePerEvent(states),
    },
    (scene) => scene.crashAgainAndAgain(),
  )
})
