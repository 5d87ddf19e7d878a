import { test } from 'node:test'
import { onKafka } from './on-kafka.ts'
import { oncePerEvent } from './rules.ts'
import { seed } from './scene.ts'

test(`killed again and again, without a store: each input has its output at least once (POLLUX_SEED=${seed})`, async () => {
  await onKafka({ mechanism: 'direct', rules: () => oncePerEvent(undefined) }, (scene) =>
    scene.crashAgainAndAgain(),
  )
})
