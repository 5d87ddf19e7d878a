import assert from 'node:assert/strict'
import type { Machine } from './machine.ts'
import type { Configuration } from './model.ts'
import type { Protocol } from './protocol.ts'
import { protocolMachine } from './protocol-machine.ts'
import { type Counterexample, search } from './search.ts'

// Some gigabytes of memory and minutes of computing: what needs more has to be made smaller.
const largest = 2_000_000

/** Explores everything: no state breaks a promise, and from each the end can be reached. */
export function assertHolds<State>(machine: Machine<State>): void {
  const { states, isComplete, counterexample } = search(machine, largest)
  if (counterexample !== undefined) assert.fail(textOf(counterexample))
  assert.ok(isComplete, `${states} states, and not all: make the configuration smaller`)
}

/** A shortest way to a broken promise is of this kind, and goes by these steps, others between them. */
export function assertBreaks<State>(
  machine: Machine<State>,
  expected: { readonly kind: string; readonly steps: readonly RegExp[] },
): void {
  const { counterexample } = search(machine, largest)
  assert.ok(counterexample !== undefined, 'nothing was found to be wrong')
  assert.equal(counterexample.kind, expected.kind, textOf(counterexample))
  let position = 0
  for (const step of expected.steps) {
    const found = counterexample.trace.findIndex((name, at) => at >= position && step.test(name))
    assert.ok(found !== -1, `no step ${step} from ${position + 1} on\n${textOf(counterexample)}`)
    position = found + 1
  }
}

/** The rule makes the difference: the configuration holds, and without the rule it does not. */
export function assertNeeds(
  configuration: Configuration,
  {
    without,
    ...expected
  }: {
    /** The choices that leave the rule out. */
    readonly without: Partial<Protocol>
    readonly kind: string
    readonly steps: readonly RegExp[]
  },
): void {
  assertHolds(protocolMachine(configuration))
  const protocol = { ...configuration.protocol, ...without }
  assertBreaks(protocolMachine({ ...configuration, protocol }), expected)
}

function textOf({ kind, what, trace }: Counterexample): string {
  return [`${kind}: ${what}`, ...trace.map((step, at) => `  ${at + 1}. ${step}`)].join('\n')
}
