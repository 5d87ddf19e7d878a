import { formatNumber, textTable } from '../../../src/cli/text-table.ts'
import type { Results, SymbolSummary } from './results.ts'

/** The state as a table. SP500 is by day, the others are by month. */
export function summaryTable({ summaries }: Results): string {
  const right = 'right' as const
  return textTable(
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
}

/** How many messages the output topics hold. */
export function sayOutputs({ outputs }: Results): string {
  const counts = outputs.map(({ name, values, duplicates }) => {
    const count = [...values.values()].reduce((sum, list) => sum + list.length, 0)
    return `${formatNumber(count)} ${name}${duplicates === 0 ? '' : ` (${formatNumber(duplicates)} of them sent twice)`}`
  })
  return counts.join(', ')
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
