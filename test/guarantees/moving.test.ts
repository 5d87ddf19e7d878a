import { test } from 'node:test'
import { movesAbout, withCopies } from './inputs.ts'
import { brokers, onKafka } from './on-kafka.ts'
import { oncePerEvent } from './rules.ts'
import { seed } from './scene.ts'

test(`killed again and again, partitions moving between three members all the time: each event has its effect once (POLLUX_SEED=${seed})`, async () => {
  await onKafka(
    {
      mechanism: 'event-id',
      inputsOf: withCopies,
      rules: ({ states, stored }) =>
        oncePerEvent(states, { stored, isOrdered: (key) => !movesAbout(key) }),
    },
    async (scene) => {
      // Without names of their own, each death and each start is a rebalance.
      const broker = { brokers, sessionTimeout: 2_000 }
      await scene.crashAgainAndAgain({ broker }, { names: ['a', 'b', 'c'], each: 1 })
    },
  )
})
