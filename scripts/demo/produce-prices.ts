import { prices } from '../../examples/stocks/services.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { Failure } from '../kafka/failure.ts'
import type { PriceRow } from './price-files.ts'
import { Progress } from './progress.ts'
import { readTopic } from './read-topic.ts'

const batchSize = 200

/**
 * Writes the prices that the topic does not hold yet, each symbol's in the order of dates, and returns how many
 * these were. It may have been killed at any moment before: what the topic holds of a symbol is always the first
 * rows of that symbol, since they share a partition and each batch is acknowledged before the next is sent.
 */
export async function producePrices(
  broker: Broker,
  rows: readonly PriceRow[],
  stop: AbortSignal,
): Promise<number> {
  const missing = await missingRows(broker, rows)
  if (missing.length === 0) return 0
  const progress = new Progress('Writing prices ', rows.length)
  const before = rows.length - missing.length
  const producer = await broker.producer()
  let written = 0
  try {
    while (written < missing.length && !stop.aborted) {
      const batch = missing.slice(written, written + batchSize)
      const [refusal] = await producer.send(batch.map(toRecord))
      if (refusal !== undefined) throw refusal.error
      written += batch.length
      progress.update(before + written)
    }
  } finally {
    progress.end()
    await producer.close()
  }
  return written
}

function toRecord({ symbol, date, price }: PriceRow): ReturnType<typeof encodeRecord> {
  // The id makes a price the same event wherever it is seen, and the ids of what follows from it, too.
  const headers = { id: `${symbol}/${date}` }
  return encodeRecord(prices.message({ key: symbol, value: { date, price }, headers }))
}

async function missingRows(
  broker: Broker,
  rows: readonly PriceRow[],
): Promise<readonly PriceRow[]> {
  const present = new Map<string, number>()
  const bySymbol = Map.groupBy(rows, ({ symbol }) => symbol)
  for (const { key, value } of await readTopic(broker, prices)) {
    const index = present.get(key) ?? 0
    const row = bySymbol.get(key)?.[index]
    // A symbol of the user's own, or a price after those of the files.
    if (row === undefined) continue
    if (row.date !== value.date || row.price !== value.price) throw strangePrice(key, value, row)
    present.set(key, index + 1)
  }
  return rows.filter(({ symbol }) => {
    const count = present.get(symbol) ?? 0
    present.set(symbol, count - 1)
    return count <= 0
  })
}

function strangePrice(
  symbol: string,
  found: { readonly date: string; readonly price: number },
  row: PriceRow,
): Failure {
  return new Failure(
    `The topic ${prices.name} holds prices that are not this demo's: expected ${symbol} at ${row.price} on ` +
      `${row.date}, found ${found.price} on ${found.date}. Start over with --reset.`,
  )
}
