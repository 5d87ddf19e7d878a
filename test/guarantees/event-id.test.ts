import { test } from 'node:test'
import { oncePerEvent } from './rules.ts'
import { keyOf, partitions, Scene, seed } from './scene.ts'
import type { NewInput } from './witness.ts'

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

const long = 300

/** Many events come a second time at once, some once more much later. */
function withCopies(event: number): readonly NewInput[] {
  return [
    eventAs(event),
    ...(event % 3 === 0 ? [copyOf(event, event)] : []),
    ...(event >= long && event % 5 === 0 ? [copyOf(event - long, event)] : []),
  ]
}

function eventAs(event: number): NewInput {
  return { partition: undefined, key: keyOf(event), value: `${event}`, id: `event-${event}` }
}

/** Copies of every second key's events lie in any partition, in the hands of other members. */
function copyOf(event: number, salt: number): NewInput {
  const original = eventAs(event)
  return movesAbout(original.key) ? { ...original, partition: salt % partitions } : original
}

function movesAbout(key: string): boolean {
  return /[02468]$/.test(key)
}
