import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { root } from '../../command.ts'
import { Failure } from '../../kafka/failure.ts'

/** One price of the files. */
export interface PriceRow {
  readonly symbol: string
  /** As in `2010-03-01`. */
  readonly date: string
  readonly price: number
}

const folder = join(root, 'node_modules/vega-datasets/data')

/** All prices of the package vega-datasets in the order of their dates: five shares by month, the S&P 500 by day. */
export function readPriceFiles(): readonly PriceRow[] {
  const shares = readRows('stocks.csv').map(
    ({ symbol = '', date = '', price }): PriceRow => ({
      symbol,
      date: isoDate(date),
      price: Number(price),
    }),
  )
  const index = readRows('sp500-2000.csv').map(
    ({ date = '', close }): PriceRow => ({ symbol: 'SP500', date, price: Number(close) }),
  )
  return [...shares, ...index].sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0))
}

/** The symbols of the files, by name. */
export function symbolsOf(rows: readonly PriceRow[]): readonly string[] {
  return [...new Set(rows.map(({ symbol }) => symbol))].sort()
}

function readRows(name: string): Partial<Record<string, string>>[] {
  const file = join(folder, name)
  if (!existsSync(file))
    throw new Failure(`There is no ${file}. Install the packages first: npm ci`)
  return parse(readFileSync(file), { columns: true, skip_empty_lines: true })
}

/** `Jan 1 2000` as `2000-01-01`. */
function isoDate(text: string): string {
  return new Date(`${text} UTC`).toISOString().slice(0, 10)
}
