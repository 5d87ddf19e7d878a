import type { PriceRow } from './price-files.ts'
import type { Results, SymbolSummary } from './results.ts'

interface Price {
  readonly date: string
  readonly price: number
}

interface Move {
  readonly from: Price
  readonly to: Price
  readonly percent: number
}

/** What has to come out, computed straight from the rows, with nothing of Pollux and nothing of the example. */
export function expectedResults(rows: readonly PriceRow[]): Results {
  const summaries = new Map<string, SymbolSummary>()
  const moves = new Map<string, readonly Move[]>()
  const highs = new Map<string, readonly unknown[]>()
  const alerts = new Map<string, readonly unknown[]>()
  for (const [symbol, list] of Map.groupBy(rows, (row) => row.symbol)) {
    const prices = list.map(({ date, price }): Price => ({ date, price }))
    const ofSymbol = prices.slice(1).map((to, index) => moveBetween(prices[index] as Price, to))
    moves.set(symbol, ofSymbol)
    highs.set(symbol, highsAmong(prices))
    alerts.set(
      symbol,
      ofSymbol
        .filter(({ percent }) => percent >= 10 || percent <= -10)
        .map((move) => alertOf(symbol, move)),
    )
    summaries.set(symbol, summaryOf(prices, ofSymbol))
  }
  const output = (name: string, values: ReadonlyMap<string, readonly unknown[]>) => ({
    name,
    values,
    duplicates: 0,
  })
  return {
    summaries,
    outputs: [
      output('almanac.moves', moves),
      output('almanac.highs', highs),
      output('almanac.alerts', alerts),
    ],
  }
}

function moveBetween(from: Price, to: Price): Move {
  return { from, to, percent: Math.round((to.price / from.price - 1) * 10_000) / 100 }
}

function highsAmong(prices: readonly Price[]): readonly unknown[] {
  const [first, ...later] = prices
  let before = first?.price ?? 0
  return later.flatMap(({ date, price }) => {
    if (price <= before) return []
    const high = { date, price, before }
    before = price
    return [high]
  })
}

function alertOf(symbol: string, { from, to, percent }: Move): unknown {
  const how = percent > 0 ? `rose by ${percent} %` : `fell by ${-percent} %`
  return { date: to.date, percent, text: `${symbol} ${how}, from ${from.price} to ${to.price}` }
}

function summaryOf(prices: readonly Price[], moves: readonly Move[]): SymbolSummary {
  const byPrice = prices.toSorted((a, b) => a.price - b.price)
  const byPercent = moves.toSorted((a, b) => a.percent - b.percent)
  const most = byPercent.at(-1)?.percent ?? 0
  const least = byPercent[0]?.percent ?? 0
  return {
    count: prices.length,
    first: prices[0] as Price,
    last: prices.at(-1) as Price,
    // Sorting keeps the order of dates among equals: the first day of a price counts.
    high: prices.find(({ price }) => price === byPrice.at(-1)?.price) as Price,
    low: byPrice[0] as Price,
    biggestRise: most > 0 ? moves.find(({ percent }) => percent === most) : undefined,
    biggestFall: least < 0 ? byPercent[0] : undefined,
  }
}
