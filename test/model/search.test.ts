import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Machine, stepsOffered } from './machine.ts'
import { search } from './search.ts'

/** Counts by one or two; falling into the trap is a fault. */
function counter({
  end,
  forbidden,
  trap,
}: {
  end: number
  forbidden?: number
  trap?: number
}): Machine<{ count: number }> {
  return {
    initial: { count: 0 },
    stepsFrom: (state) =>
      stepsOffered(state, structuredClone, ({ step, fault }) => {
        if (state.count >= end || state.count === trap) return
        for (const by of [1, 2]) {
          const name = `${state.count} + ${by}`
          const add = (draft: { count: number }): void => {
            draft.count += by
          }
          if (state.count + by === trap) fault(name, add)
          else step(name, add)
        }
      }),
    violationIn: ({ count }) =>
      count === forbidden ? { kind: 'forbidden', what: `the count is ${count}` } : undefined,
    isDone: ({ count }) => count >= end,
    describe: ({ count }) => `the count is ${count}`,
  }
}

test('each state that can be reached is explored once', () => {
  assert.deepEqual(search(counter({ end: 10 }), 100), {
    states: 12,
    steps: 20,
    isComplete: true,
    counterexample: undefined,
  })
})

test('a counterexample is a shortest one', () => {
  assert.deepEqual(search(counter({ end: 10, forbidden: 5 }), 100).counterexample, {
    kind: 'forbidden',
    what: 'the count is 5',
    trace: ['0 + 1', '1 + 2', '3 + 2'],
  })
})

test('a state from which the end cannot be reached is a counterexample', () => {
  assert.deepEqual(search(counter({ end: 10, trap: 4 }), 100).counterexample, {
    kind: 'stuck',
    what: 'the count is 4',
    trace: ['0 + 2', '2 + 2'],
  })
})

test('a search that meets its limit does not claim to be complete', () => {
  assert.equal(search(counter({ end: 1_000 }), 100).isComplete, false)
})
