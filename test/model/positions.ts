import type { Model } from './model.ts'
import type { Result, View } from './state.ts'

/** The offsets of a partition that are settled once these results are committed, ascending. */
export function settledWith(
  model: Model,
  { settled }: View,
  results: readonly Result[],
  partition: number,
): number[] {
  const added = results
    .map(({ message }) => model.message(message))
    .filter((message) => message.partition === partition)
    .map(({ offset }) => offset)
  return [...new Set([...settled, ...added])].sort((a, b) => a - b)
}

/** The lowest offset that is not among these ascending ones. */
export function firstGap(settled: readonly number[]): number {
  const gap = settled.findIndex((offset, index) => offset !== index)
  return gap === -1 ? settled.length : gap
}
