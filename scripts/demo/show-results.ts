import { formatNumber, textTable } from '../../src/cli/text-table.ts'
import type { Place } from './place.ts'
import type { Results, SymbolSummary } from './results.ts'

/** The state as a table, and how many messages the output topics hold. */
export function showResults({ summaries, outputs }: Results): string {
  const right = 'right' as const
  const table = textTable(
    [
      { heading: 'symbol' },
      { heading: 'prices', align: right },
      { heading: 'first' },
      { heading: 'last' },
      { heading: 'highest', align: right },
      { heading: 'on' },
      { heading: 'biggest rise', align: right },
      { heading: 'on' },
      { heading: 'biggest fall', align: right },
      { heading: 'on' },
    ],
    [...summaries].map(([symbol, summary]) => rowOf(symbol, summary)),
  )
  const counts = outputs.map(({ name, values, duplicates }) => {
    const count = [...values.values()].reduce((sum, list) => sum + list.length, 0)
    return `${formatNumber(count)} ${name}${duplicates === 0 ? '' : ` (${formatNumber(duplicates)} of them sent twice)`}`
  })
  return `${table}SP500 is by day, the others are by month.\n\nWritten to the topics: ${counts.join(', ')}.\n`
}

function rowOf(symbol: string, summary: SymbolSummary): readonly string[] {
  const { count, first, last, high, biggestRise, biggestFall } = summary
  return [
    symbol,
    formatNumber(count),
    first.date,
    last.date,
    high.price.toFixed(2),
    high.date,
    ...moveCells(biggestRise),
    ...moveCells(biggestFall),
  ]
}

function moveCells(move: SymbolSummary['biggestRise']): readonly string[] {
  if (move === undefined) return ['none', '']
  return [`${move.percent > 0 ? '+' : ''}${move.percent.toFixed(2)} %`, move.to.date]
}

/** What this run has done, and what was done before. */
export function showWork(before: number, after: number, seconds: number): string {
  const now = after - before
  if (now > 0) {
    return `${formatNumber(now)} prices handled in ${seconds.toFixed(1)} s; ${formatNumber(before)} were handled before.\n`
  }
  return `0 new prices; all ${formatNumber(before)} were handled by an earlier run.\n`
}

/** How to go on from here. */
export function showCommands(
  { flags, stopCommand }: Place,
  demo: (...more: readonly string[]) => string,
): string {
  const pollux = 'npx node src/cli/main.ts'
  const lines = [
    [`${pollux} topics ${flags}`, 'what the topics hold'],
    [
      `${pollux} consume stocks.alerts ${flags} --format table`,
      'the moves of ten percent and more',
    ],
    [`${pollux} consume stocks.moves ${flags} --limit 3`, 'three price moves'],
    [`${pollux} group price-moves ${flags}`, 'how far the service is'],
    [demo(), 'does nothing twice'],
    [demo('--check'), 'compares all of it with the files'],
    [demo('--reset'), 'starts over'],
    ...(stopCommand === undefined ? [] : [[stopCommand, 'stops the broker']]),
  ]
  const width = Math.max(...lines.map(([command = '']) => command.length))
  const text = lines.map(([command = '', what = '']) => `  ${command.padEnd(width)}  # ${what}\n`)
  return `Look further:\n${text.join('')}`
}
