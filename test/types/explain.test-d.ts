// Checked by the compiler alone: each refusal below is an error if the compiler accepts it.
import type { CrashMoment } from '../../src/crash-outcomes.ts'
import { explain, type Fence } from '../../src/explain.ts'
import { defineConfig, defineService, text, topic } from '../../src/index.ts'
import type { Equal, Expect } from './expect.ts'

const orders = topic('orders', { value: text })
const explanation = explain(defineService('read', { inputs: [orders], handle() {} }))

export type FenceIsAWord = Expect<Equal<typeof explanation.fence.choice, Fence>>
export type StateIsAWord = Expect<Equal<typeof explanation.state.choice, 'store' | 'none'>>
const [first] = explanation.crashOutcomes
export type MomentIsAWord = Expect<Equal<NonNullable<typeof first>['moment'], CrashMoment>>

// @ts-expect-error: an explanation is read, not changed
explanation.guarantee = 'exactly once, whatever happens'

defineConfig({
  postgres: { connectionString: 'postgres://me@db/shop', schema: 'own', migrate: false },
})
defineConfig({ postgres: {} })

// @ts-expect-error: an address alone is not the options
defineConfig({ postgres: 'postgres://me@db/shop' })

// @ts-expect-error: no such option
defineConfig({ postgres: { statementTimeOut: '3s' } })
