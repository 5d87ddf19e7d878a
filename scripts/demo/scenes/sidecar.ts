import { prices } from '../../../examples/bookshop/topics.ts'
import { textTable } from '../../../src/cli/text-table.ts'
import { books, chance } from '../books.ts'
import { differences } from '../difference.ts'
import type { Scene } from '../scene.ts'
import { withoutPrice } from './gate.ts'

const priced = books.filter((book) => book !== withoutPrice)

// The third book's prices come as 1, 3, 2, and so do those of each third one after it.
const events = priced.flatMap(({ number: key }, index) =>
  (index % 3 === 1 ? [1, 3, 2] : [1, 2]).map((revision) => {
    const value = { amount: amountOf(index, revision), currency: 'EUR', revision }
    return prices.message({ key, value, headers: { id: `${key}/price/${revision}` } })
  }),
)

function amountOf(index: number, revision: number): string {
  return `${8 + chance(index, 20) + revision}.${revision}0`
}

interface Row {
  readonly item_no: string
  readonly descr: string
  readonly unit_price: string | null
  readonly curr: string
  readonly last_upd: Date | null
  readonly shelf: string
}

/** Some prices come late, after a newer one. */
export const sidecarScene: Scene = {
  title: 'Sidecar: prices → a table of the legacy shop, which knows nothing of events',
  events,
  async look({ shop }) {
    const rows = (await shop.query('select * from legacy.item_master order by item_no'))
      .rows as unknown as readonly Row[]
    const found = new Map(rows.map(({ last_upd: _, ...row }) => [row.item_no, row]))
    const expected = books.map(({ number, title, shelf }): [string, unknown] => {
      const index = priced.findIndex((book) => book.number === number)
      const unit_price = index < 0 ? null : amountOf(index, index % 3 === 1 ? 3 : 2)
      return [number, { item_no: number, descr: title, unit_price, curr: 'EUR', shelf }]
    })
    const late = events.length - 2 * priced.length
    return {
      sent: `${events.length} prices of ${priced.length} books, ${late} of them late: an older one after a newer one`,
      came: 'the shop finds them in its own table, with its own names and types:',
      table: textTable(
        [
          { heading: 'item_no' },
          { heading: 'descr' },
          { heading: 'unit_price', align: 'right' },
          { heading: 'curr' },
          { heading: 'shelf' },
        ],
        rows
          .slice(2, 5)
          .map(({ item_no, descr, unit_price, curr, shelf }) => [
            item_no,
            descr,
            unit_price ?? 'null',
            curr,
            shelf,
          ]),
      ),
      proof: 'Each price is the newest one, and nothing else in the table has changed.',
      problems: [
        ...differences('item', new Map(expected), found),
        ...(rows.length === books.length
          ? []
          : [`items: ${rows.length}, expected ${books.length}`]),
      ],
    }
  },
}
