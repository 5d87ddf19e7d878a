import fc from 'fast-check'
import type { OffsetRange } from '../../../src/ports/store.ts'

export const topic = 't'
export const partitions: readonly number[] = [0, 1, 2]
export const keys: readonly Buffer[] = bytes('', 'a', 'A', 'a\0', 'b')
// Enough of them that a unit has a chance to be the first one.
export const ids: readonly Buffer[] = bytes('', 'i', 'I', 'i\0', ...'jklmnopqrstuvwxyz')

/** What an owner wants to write to a key. */
export interface Write {
  readonly value: string | null
  readonly guard: string | null
}

/** An event that an owner says was applied. */
export interface Applied {
  readonly id: number
  readonly partition: number
  readonly offset: number
}

/** What an owner wants the row of a partition to say. */
export interface Progress {
  readonly next: number
  readonly settled: readonly OffsetRange[]
  readonly outputs: readonly string[]
  /** How many of its latest units it leaves out of what it acknowledges; undefined: it acknowledges none. */
  readonly sparing: number | undefined
}

type Owner = 0 | 1

/** What is done next. Times are in hours: a step takes none, only `wait` does. */
export type Step =
  | { readonly do: 'acquire'; readonly owner: Owner; readonly partitions: readonly number[] }
  | {
      readonly do: 'load'
      readonly owner: Owner
      readonly keys: readonly number[]
      readonly ids: readonly number[]
    }
  | {
      readonly do: 'commit'
      readonly owner: Owner
      readonly applied: readonly Applied[]
      /** One for each key; undefined: no change. */
      readonly writes: readonly (Write | undefined)[]
      /** One for each partition. */
      readonly progress: readonly (Progress | undefined)[]
    }
  | { readonly do: 'repeat'; readonly owner: Owner }
  | {
      readonly do: 'acknowledge'
      readonly owner: Owner
      readonly partition: number
      readonly sparing: number
    }
  | { readonly do: 'wait'; readonly hours: number }
  | { readonly do: 'unpublished'; readonly owner: Owner; readonly age: number }
  | { readonly do: 'forget'; readonly owner: Owner; readonly window: number }

export type StepOf<Name extends Step['do']> = Extract<Step, { readonly do: Name }>

const owner = fc.constantFrom<Owner>(0, 1)
const partition = fc.constantFrom(...partitions)
const sparing = fc.nat({ max: 1 })
// Never a whole number: what is exactly that old may count as either.
const span = fc.nat({ max: 3 }).map((hours) => hours + 0.5)

const settled: fc.Arbitrary<readonly OffsetRange[]> = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })), { maxLength: 3 })
  .map((gaps) => {
    let from = 100
    return gaps.map(([gap, length]) => {
      const range = { from: from + gap, to: from + gap + length }
      from = range.to
      return range
    })
  })

const progress: fc.Arbitrary<Progress> = fc.record({
  next: fc.nat({ max: 100 }),
  settled,
  outputs: fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }),
  sparing: fc.option(sparing, { nil: undefined }),
})

const write: fc.Arbitrary<Write> = fc.record({
  value: fc.option(fc.string({ maxLength: 4 }), { freq: 2 }),
  guard: fc.option(fc.constantFrom('', '1', 'é'), { freq: 2 }),
})

const applied: fc.Arbitrary<Applied> = fc.record({
  id: fc.nat({ max: ids.length - 1 }),
  partition,
  offset: fc.nat({ max: 100 }),
})

/** Rather nothing than something, for one thing in a unit. */
function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
}

function step<Name extends Step['do']>(
  name: Name,
  rest: { [Key in Exclude<keyof StepOf<Name>, 'do'>]: fc.Arbitrary<StepOf<Name>[Key]> },
): fc.Arbitrary<Step> {
  return fc.record({ do: fc.constant(name), ...rest } as never) as fc.Arbitrary<Step>
}

const commit = step('commit', {
  owner,
  applied: fc.uniqueArray(applied, { selector: ({ id }) => id, maxLength: 2 }),
  writes: fc.array(seldom(write), { minLength: keys.length, maxLength: keys.length }),
  progress: fc.array(seldom(progress), {
    minLength: partitions.length,
    maxLength: partitions.length,
  }),
})

const one: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: step('acquire', {
      owner,
      partitions: fc.uniqueArray(partition, { minLength: 1 }),
    }),
  },
  {
    weight: 4,
    arbitrary: step('load', {
      owner,
      keys: fc.array(fc.nat({ max: keys.length - 1 }), { maxLength: 6 }),
      ids: fc.array(fc.nat({ max: ids.length - 1 }), { maxLength: 6 }),
    }),
  },
  { weight: 10, arbitrary: commit },
  { weight: 1, arbitrary: step('repeat', { owner }) },
  { weight: 4, arbitrary: step('acknowledge', { owner, partition, sparing }) },
  { weight: 1, arbitrary: step('wait', { hours: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: step('unpublished', { owner, age: span }) },
  { weight: 2, arbitrary: step('forget', { owner, window: span }) },
)

export const steps: fc.Arbitrary<Step[]> = fc.array(one, {
  minLength: 1,
  maxLength: 50,
  size: 'max',
})

function bytes(...texts: readonly string[]): Buffer[] {
  return texts.map((text) => Buffer.from(text))
}
