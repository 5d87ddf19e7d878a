import assert from 'node:assert/strict'
import { eventOf } from './services.ts'
import type { Effect, Output, Rules } from './witness.ts'

/** Each event has its effect once, and its output at least once. */
export function oncePerEvent(effects: Rules['effects'], isOrdered = inOrder): Rules {
  return {
    effects,
    unsettled: ({ value }, { applied, published }) => {
      if (effects !== undefined && !applied.has(value)) return 'has no effect'
      return published.has(value) ? undefined : 'has no output'
    },
    always: (seen) => checkOnce(seen.effects),
    finally: (seen) => {
      const events = new Set(seen.inputs.map(({ value }) => value))
      checkSame('outputs', seen.published, events)
      checkOrder('output', firsts(seen.outputs), isOrdered)
      if (effects === undefined) return
      checkSame('effects', seen.applied, events)
      checkOrder('effect', seen.effects, isOrdered)
    },
  }
}

const inOrder = (): boolean => true

/** Nothing is there twice. */
function checkOnce(effects: readonly Effect[]): void {
  const found = new Map<string, Effect>()
  for (const effect of effects) {
    const other = found.get(effect.value)
    if (other !== undefined)
      assert.fail(
        `${effect.value} of ${effect.key} had its effect twice: ${shown(other)} and ${shown(effect)}`,
      )
    found.set(effect.value, effect)
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

/** The first appearance of each. */
function firsts(outputs: readonly Output[]): { readonly key: string; readonly value: string }[] {
  const found = new Set<string>()
  const list = []
  for (const { key, input } of outputs) {
    if (found.has(input)) continue
    found.add(input)
    list.push({ key, value: input })
  }
  return list
}

/** Events of a key come in the order in which they were written. */
function checkOrder(
  what: string,
  list: readonly { readonly key: string; readonly value: string }[],
  isOrdered: (key: string) => boolean,
): void {
  const last = new Map<string, string>()
  for (const { key, value } of list) {
    if (!isOrdered(key)) continue
    const before = last.get(key) ?? '-1'
    assert.ok(eventOf(value) > eventOf(before), `${key}: the ${what} ${value} came after ${before}`)
    last.set(key, value)
  }
}
