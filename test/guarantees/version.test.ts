import { test } from 'node:test'
import { withVersions } from './inputs.ts'
import { onKafka } from './on-kafka.ts'
import { newestPerKey } from './rules.ts'
import { seed } from './scene.ts'

test(`killed again and again, by versions: the newest of each key stands, in whatever order they came (POLLUX_SEED=${seed})`, async () => {
  await onKafka(
    {
      mechanism: 'version',
      inputsOf: withVersions,
      rules: ({ states, stored }) => newestPerKey(states, stored),
    },
    (scene) => scene.crashAgainAndAgain(),
  )
})
