import assert from 'node:assert/strict'
import type { StoreProbe } from './store-probe.ts'

/** Makes all that the stores hold so many milliseconds older, as if that time had passed. */
export type Age = (milliseconds: number) => Promise<void>

/** A test of what a store does with what has become old. */
export type AgingTest = (probe: StoreProbe, age: Age) => Promise<void>

/** A span that no test takes by itself. */
export const hour = 3_600_000

/** Forgets slice by slice until a pass is complete. */
export async function forgetAll({ store, service }: StoreProbe, window: number): Promise<void> {
  for (let slices = 0; await store.forget(service, window); slices += 1) {
    assert.ok(slices < 100_000, 'forget should say at some time that its pass is complete')
  }
}
