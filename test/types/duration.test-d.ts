// Checked by the compiler alone: each refusal below is an error if the compiler accepts it.
import type { Duration } from '../../src/duration.ts'

export const durations: readonly Duration[] = [0, 250, '200ms', '30s', '1.5h', '7d']

// @ts-expect-error: a unit in words
export const words: Duration = '10 seconds'
// @ts-expect-error: no unit
export const bare: Duration = '10'
// @ts-expect-error: an unknown unit
export const weeks: Duration = '2w'
// @ts-expect-error: no number
export const unit: Duration = 'ms'
