import { chanceOf } from '../../src/testing/crash/chance.ts'
import type { NewInput } from './witness.ts'

export const partitions = 4
const keys = 16
const long = 300

export type InputsOf = (event: number) => readonly NewInput[]

/** Each event once, the keys taking turns. */
export function once(event: number): readonly NewInput[] {
  return [{ partition: undefined, key: keyOf(event), value: `${event}` }]
}

/** Events with ids. Many come a second time at once, some once more much later. */
export function withCopies(event: number): readonly NewInput[] {
  return [
    withId(event),
    ...(event % 3 === 0 ? [copyOf(event, event)] : []),
    ...(event >= long && event % 5 === 0 ? [copyOf(event - long, event)] : []),
  ]
}

function withId(event: number): NewInput {
  return { partition: undefined, key: keyOf(event), value: `${event}`, id: `event-${event}` }
}

function copyOf(event: number, salt: number): NewInput {
  const original = withId(event)
  return movesAbout(original.key) ? { ...original, partition: salt % partitions } : original
}

/** Versions rise in the long run, and are in disorder in the short run. Some come again. */
export function withVersions(event: number): readonly NewInput[] {
  const version = event + Math.floor(chanceOf(event)() * 200)
  const input = { partition: undefined, key: keyOf(event), value: `${event}@${version}` }
  if (event % 4 !== 0) return [input]
  return [input, { ...input, partition: movesAbout(input.key) ? event % partitions : undefined }]
}

/** Copies of every second key's events may lie in any partition, in the hands of other members. */
export function movesAbout(key: string): boolean {
  return /[02468]$/.test(key)
}

export function keyOf(event: number): string {
  return `k${(event * 7) % keys}`
}
