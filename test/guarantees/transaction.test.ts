import { test } from 'node:test'
import { onKafka } from './on-kafka.ts'
import { onceInTransactions } from './rules.ts'
import { seed } from './scene.ts'

test(`killed again and again, in Kafka's transactions: readers of what is committed see each output once (POLLUX_SEED=${seed})`, async () => {
  await onKafka({ mechanism: 'transaction', rules: () => onceInTransactions }, (scene) =>
    scene.crashAgainAndAgain({}, { each: 5 }),
  )
})
