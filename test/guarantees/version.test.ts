import { test } from 'node:test'
import { withVersions } from './inputs.ts'
import { newestPerKey } from './rules.ts'
import { Scene, seed } from './scene.ts'

test(`killed again and again, by versions: the newest of each key stands, in whatever order they came (POLLUX_SEED=${seed})`, async () => {
  const scene = await Scene.open({
    mechanism: 'version',
    inputsOf: withVersions,
    rules: ({ states, stored }) => newestPerKey(states, stored),
  })
  try {
    await scene.crashAgainAndAgain(seed)
  } finally {
    await scene.close()
  }
})
