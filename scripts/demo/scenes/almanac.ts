import { marketPrices } from '../../../examples/bookshop/almanac.ts'
import { formatNumber } from '../../../src/cli/text-table.ts'
import { compareResults } from '../almanac/compare-results.ts'
import { expectedResults } from '../almanac/expected-results.ts'
import { type PriceRow, symbolsOf } from '../almanac/price-files.ts'
import { readResults } from '../almanac/results.ts'
import { sayOutputs, summaryTable } from '../almanac/show-results.ts'
import type { Scene } from '../scene.ts'

/** Twenty years of prices. */
export function almanacScene(rows: readonly PriceRow[]): Scene {
  const symbols = symbolsOf(rows)
  return {
    title: 'State: the prices of shares → the figures of An Almanac of Prices',
    // The id makes a price the same event wherever it is seen, and the ids of what follows from it, too.
    events: rows.map(({ symbol, date, price }) =>
      marketPrices.message({
        key: symbol,
        value: { date, price },
        headers: { id: `${symbol}/${date}` },
      }),
    ),
    async look({ broker, store }) {
      const results = await readResults(broker, store, symbols)
      return {
        sent: `${formatNumber(rows.length)} prices of 2000 to 2020: ${symbols.join(', ')}`,
        came: sayOutputs(results),
        table: summaryTable(results),
        proof: 'State and outputs are exactly what follows from the files.',
        problems: compareResults(results, expectedResults(rows)),
      }
    },
  }
}
