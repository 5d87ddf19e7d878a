import assert from 'node:assert/strict'
import type { Effect } from './effects.ts'
import { eventOf, versionOf } from './services.ts'
import type { Input, Output, Rules, Seen } from './witness.ts'

/** Each event has its effect once, and its output at least once. */
export function oncePerEvent(
  effects: Rules['effects'],
  {
    isOrdered = () => true,
    stored,
  }: {
    /** Whether the events of a key are all in one partition. */
    readonly isOrdered?: (key: string) => boolean
    readonly stored?: Rules['stored']
  } = {},
): Rules {
  return {
    effects,
    stored,
    unsettled: ({ value }, seen) => {
      if (effects !== undefined && !seen.applied.has(value)) return 'has no effect'
      return seen.published.has(value) || seen.stored.has(value) ? undefined : 'has no output'
    },
    always: (seen) => checkOnce(seen.effects),
    finally: (seen) => {
      checkSame('outputs', seen.published, valuesOf(seen))
      checkOrder('output', firsts(seen.outputs), isOrdered)
      if (effects !== undefined) checkEffects(seen.effects, seen, isOrdered)
    },
  }
}

/** Without a store: readers of committed transactions see each event's output once. */
export const onceInTransactions: Rules = {
  transactional: true,
  // What is committed may lie behind a transaction that the dead have left open.
  unsettled: () => undefined,
  always: ({ outputs }) => {
    const found = new Set<string>()
    for (const { input, key } of outputs) {
      assert.ok(!found.has(input), `${input} of ${key} has its output twice`)
      found.add(input)
    }
  },
  finally: (seen) => {
    checkSame('outputs', seen.published, valuesOf(seen))
    checkOrder('output', firsts(seen.outputs), () => true)
  },
}

/** Each event has its effect once, and those of a key are in order. */
export function checkEffects(
  effects: readonly Effect[],
  seen: Pick<Seen, 'inputs'>,
  isOrdered: (key: string) => boolean = () => true,
): void {
  checkOnce(effects)
  checkSame('effects', new Set(effects.map(({ value }) => value)), valuesOf(seen))
  checkOrder('effect', effects, isOrdered)
}

function valuesOf({ inputs }: Pick<Seen, 'inputs'>): ReadonlySet<string> {
  return new Set(inputs.map(({ value }) => value))
}

/** Nothing is there twice. */
function checkOnce(effects: readonly Effect[]): void {
  const found = new Map<string, Effect>()
  for (const effect of effects) {
    const { key, value } = effect
    const other = found.get(value)
    if (other !== undefined)
      assert.fail(`${value} of ${key} had its effect twice: ${shown(other)} and ${shown(effect)}`)
    found.set(value, effect)
  }
}

function shown({ owner, started }: Effect): string {
  return `by ${owner} at ${new Date(started).toISOString()}`
}

function checkSame(what: string, found: ReadonlySet<string>, wanted: ReadonlySet<string>): void {
  const missing = [...wanted].filter((value) => !found.has(value))
  const surplus = [...found].filter((value) => !wanted.has(value))
  assert.deepEqual({ missing, surplus }, { missing: [], surplus: [] }, what)
}

interface Keyed {
  readonly key: string
  readonly value: string
}

/** The first appearance of each. */
function firsts(outputs: readonly Output[]): Keyed[] {
  const found = new Map<string, Keyed>()
  for (const { key, input } of outputs)
    if (!found.has(input)) found.set(input, { key, value: input })
  return [...found.values()]
}

/** Events of a key come in the order in which they were written. */
function checkOrder(
  what: string,
  list: readonly Keyed[],
  isOrdered: (key: string) => boolean,
): void {
  for (const [key, values] of byKey(list)) {
    if (!isOrdered(key)) continue
    values.reduce((before, value) => {
      assert.ok(eventOf(value) > eventOf(before), `${key}: the ${what} ${value} after ${before}`)
      return value
    })
  }
}

function byKey(list: readonly Keyed[]): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const { key, value } of list) values.set(key, [...(values.get(key) ?? []), value])
  return values
}

/**
 * Each key has what its newest version made of it, and older ones that come later have no effect. Outputs are those of what
 * had an effect.
 */
export function newestPerKey(effects: Rules['effects'], stored: Rules['stored']): Rules {
  return {
    effects,
    stored,
    unsettled: (input, seen) => {
      const newest = Math.max(...seen.effects.filter(({ key }) => key === input.key).map(versionOf))
      if (newest < versionOf(input)) return `is newer than what its key has (${newest})`
      const isMissing =
        seen.applied.has(input.value) &&
        !seen.published.has(input.value) &&
        !seen.stored.has(input.value)
      return isMissing ? 'has no output' : undefined
    },
    always: (seen) => {
      checkNoneTwice(seen)
      checkRising('effects', seen.effects)
    },
    finally: (seen) => {
      checkSame('outputs', seen.published, seen.applied)
      // Those of two partitions have two publishers, of which one may be late.
      const split = splitKeys(seen.inputs)
      checkRising(
        'outputs',
        firsts(seen.outputs).filter(({ key }) => !split.has(key)),
      )
      checkNewest(seen, split)
    },
  }
}

/** The same version may come again in its partition, and counts again then: so often, and not more. */
function checkNoneTwice({ inputs, effects }: Seen): void {
  const records = Map.groupBy(inputs, ({ value }) => value)
  for (const [value, own] of Map.groupBy(effects, (effect) => effect.value)) {
    const many = records.get(value)?.length ?? 0
    assert.ok(own.length <= many, `${value} had ${own.length} effects, and is there ${many} times`)
  }
}

function checkRising(what: string, list: readonly Keyed[]): void {
  for (const [key, values] of byKey(list)) {
    values.reduce((before, value) => {
      const isRising = versionOf({ value }) >= versionOf({ value: before })
      assert.ok(isRising, `${key}: among its ${what}, ${value} came after ${before}`)
      return value
    })
  }
}

/** Where a key's versions lie in one partition, it is known to the last which have an effect. */
function checkNewest({ inputs, effects }: Seen, split: ReadonlySet<string>): void {
  const applied = byKey(effects)
  for (const [key, own] of Map.groupBy(inputs, (input) => input.key)) {
    const newest = Math.max(...own.map(versionOf))
    assert.equal(versionOf({ value: applied.get(key)?.at(-1) ?? '' }), newest, `${key}'s version`)
    if (!split.has(key))
      assert.deepEqual(applied.get(key), newestSoFar(own), `what ${key} has become`)
  }
}

/** The keys that lie in more than one partition. */
function splitKeys(inputs: readonly Input[]): ReadonlySet<string> {
  const first = new Map<string, number>()
  const split = new Set<string>()
  for (const { key, partition } of inputs) {
    if ((first.get(key) ?? partition) !== partition) split.add(key)
    first.set(key, partition)
  }
  return split
}

function newestSoFar(inputs: readonly Input[]): string[] {
  let newest = Number.NEGATIVE_INFINITY
  return inputs
    .filter((input) => {
      const isNewer = versionOf(input) >= newest
      newest = Math.max(newest, versionOf(input))
      return isNewer
    })
    .map(({ value }) => value)
}
