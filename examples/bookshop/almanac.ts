import { z } from 'zod'
import { defineService, json, type OutputMessage, text, topic } from '../../src/index.ts'
import { keepAll as create } from './topics.ts'

// The figures of the shop's Almanac of Prices. The key of every message is the symbol of a share, so its prices stay in order.

export const Price = z.object({ date: z.iso.date(), price: z.number().positive() })
export const Move = z.object({ from: Price, to: Price, percent: z.number() })
export const High = z.object({ date: z.iso.date(), price: z.number(), before: z.number() })
export const Alert = z.object({ date: z.iso.date(), percent: z.number(), text: z.string() })

export const marketPrices = topic('almanac.prices', { key: text, value: json(Price), create })
export const moves = topic('almanac.moves', { key: text, value: json(Move), create })
export const highs = topic('almanac.highs', { key: text, value: json(High), create })
export const alerts = topic('almanac.alerts', { key: text, value: json(Alert), create })

// What is remembered of a symbol.

export const Summary = z.object({
  count: z.int(),
  first: Price,
  last: Price,
  high: Price,
  low: Price,
  biggestRise: Move.optional(),
  biggestFall: Move.optional(),
})

/** Tells how each price differs from the one before, and when it is the highest so far. */
export const priceMoves = defineService('price-moves', {
  inputs: [marketPrices],
  outputs: [moves, highs],
  state: json(Summary),
  async handle({ key: symbol, value: price }, { state }) {
    const summary = await state.get()
    if (summary === undefined) {
      return state.put({ count: 1, first: price, last: price, high: price, low: price })
    }
    const move = { from: summary.last, to: price, percent: percentBetween(summary.last, price) }
    const isHigh = price.price > summary.high.price
    await state.put({
      count: summary.count + 1,
      first: summary.first,
      last: price,
      high: isHigh ? price : summary.high,
      low: price.price < summary.low.price ? price : summary.low,
      biggestRise: move.percent > (summary.biggestRise?.percent ?? 0) ? move : summary.biggestRise,
      biggestFall: move.percent < (summary.biggestFall?.percent ?? 0) ? move : summary.biggestFall,
    })
    const outputs: OutputMessage<typeof moves | typeof highs>[] = [
      moves.message({ key: symbol, value: move }),
    ]
    if (isHigh) {
      const high = { date: price.date, price: price.price, before: summary.high.price }
      outputs.push(highs.message({ key: symbol, value: high }))
    }
    return outputs
  },
})

/** Turns moves of ten percent and more into a sentence. */
export const bigMoves = defineService('big-moves', {
  inputs: [moves],
  outputs: [alerts],
  handle({ key: symbol, value: { from, to, percent } }) {
    if (Math.abs(percent) < 10) return
    const verb = percent > 0 ? 'rose' : 'fell'
    const sentence = `${symbol} ${verb} by ${Math.abs(percent)} %, from ${from.price} to ${to.price}`
    return alerts.message({ key: symbol, value: { date: to.date, percent, text: sentence } })
  },
})

/** Rounded to two places. */
function percentBetween(before: z.infer<typeof Price>, after: z.infer<typeof Price>): number {
  return Math.round((after.price / before.price - 1) * 10_000) / 100
}
