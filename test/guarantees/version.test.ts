import { test } from 'node:test'
import { chanceOf } from '../../src/testing/crash/chance.ts'
import { newestPerKey } from './rules.ts'
import { keyOf, partitions, Scene, seed } from './scene.ts'
import type { NewInput } from './witness.ts'

test(`killed again and again, by versions: the newest of each key stands, in whatever order they came (POLLUX_SEED=${seed})`, async () => {
  const scene = await Scene.open({
    mechanism: 'version',
    inputsOf: versions,
    rules: ({ states, stored }) => newestPerKey(states, stored),
  })
  try {
    await scene.crashAgainAndAgain(seed)
  } finally {
    await scene.close()
  }
})

/** Versions rise in the long run, and are in disorder in the short run. Some come again, at once or in another partition. */
function versions(event: number): readonly NewInput[] {
  const chance = chanceOf(event)
  const version = event + Math.floor(chance() * 200)
  const input = { partition: undefined, key: keyOf(event), value: `${event}@${version}` }
  if (event % 4 !== 0) return [input]
  return [input, { ...input, partition: movesAbout(input.key) ? event % partitions : undefined }]
}

function movesAbout(key: string): boolean {
  return /[02468]$/.test(key)
}
