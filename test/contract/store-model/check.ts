import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import type { StoreSetup } from '../../../src/testing/store-contract.ts'
import { Run } from './run.ts'
import { steps } from './steps.ts'

// What the steps are there for. A sequence that never comes to it would prove nothing.
const wanted = [
  'committed',
  'conflict',
  'fenced',
  'repeated',
  'several outputs',
  'acknowledged',
  'unpublished',
  'forgotten',
]

/**
 * Two owners take partitions from each other, load keys, and commit what they know, which may be out
 * of date. A model of a few maps says what must come of it.
 */
export function checkAgainstModel(name: string, setup: () => Promise<StoreSetup>): void {
  describe(`two owners of one store: ${name}`, () => {
    let adapter: StoreSetup

    before(async () => {
      adapter = await setup()
    })
    after(() => adapter.cleanup())

    it('does what the model says in any sequence of steps', async (t) => {
      const { age } = adapter
      assert.ok(age, 'the model waits')
      const owners = [adapter.store(), adapter.store()] as const
      const seen = new Map<string, number>(wanted.map((outcome) => [outcome, 0]))
      try {
        for (const store of owners) await store.open()
        await fc.assert(
          fc.asyncProperty(steps, async (steps) => {
            const run = new Run({ owners, age })
            for (const one of steps) await run.do(one)
            await run.end()
            for (const outcome of run.seen) seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
          }),
          { numRuns: 150, verbose: 1 },
        )
      } finally {
        for (const store of owners) await store.close()
      }
      t.diagnostic(JSON.stringify(Object.fromEntries(seen)))
      for (const outcome of wanted) assert.ok(seen.get(outcome), outcome)
    })
  })
}
