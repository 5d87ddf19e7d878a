import { difference } from '../difference.ts'
import type { Output, Results } from './results.ts'

/** Differences shown of one symbol in one topic. */
const shownAtMost = 5

/** What differs between the results and those expected, a line each; none when all is right. */
export function compareResults(found: Results, expected: Results): readonly string[] {
  const problems: string[] = []
  for (const [symbol, summary] of expected.summaries) {
    const line = difference(`state of ${symbol}`, summary, found.summaries.get(symbol))
    if (line !== undefined) problems.push(line)
  }
  for (const output of expected.outputs) {
    const same = found.outputs.find(({ name }) => name === output.name)
    for (const symbol of output.values.keys()) problems.push(...compareOutput(symbol, output, same))
  }
  return problems
}

function compareOutput(
  symbol: string,
  expected: Output,
  found: Output | undefined,
): readonly string[] {
  const wanted = expected.values.get(symbol) ?? []
  const got = found?.values.get(symbol) ?? []
  const title = `${expected.name} of ${symbol}`
  const lines = Array.from({ length: Math.max(wanted.length, got.length) }, (_, index) =>
    difference(`${title}, number ${index + 1}`, wanted[index], got[index]),
  ).filter((line) => line !== undefined)
  const counts =
    wanted.length === got.length ? [] : [`${title}: expected ${wanted.length}, found ${got.length}`]
  const rest =
    lines.length > shownAtMost ? [`${title}: ${lines.length - shownAtMost} more differ`] : []
  return [...counts, ...lines.slice(0, shownAtMost), ...rest]
}
