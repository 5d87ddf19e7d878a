import { Sales, sellBooks } from '../../../examples/bookshop/orders.ts'
import { invoices, orders, reprints } from '../../../examples/bookshop/topics.ts'
import { formatNumber } from '../../../src/cli/text-table.ts'
import { books, chance } from '../books.ts'
import { difference, differences } from '../difference.ts'
import { readStates } from '../read-states.ts'
import { onceEach, type Scene } from '../scene.ts'

const count = 400
const once = Array.from({ length: count }, (_, index) => {
  const { number: book = '' } = books[chance(index, books.length)] ?? {}
  return { id: `order-${index + 1}`, book, copies: 1 + chance(index + count, 5), cents: 1_250 }
})
// Each fifth order is sent again, ten orders later.
const sent = once.flatMap((order, index) => {
  const before = once[index - 10]
  return before !== undefined && index % 5 === 0 ? [order, before] : [order]
})

/** Web shops that hear no answer send an order again. */
export const ordersScene: Scene = {
  title: 'Effects once: orders → copies sold, invoices, reprints',
  events: sent.map(({ id, book, copies, cents }) =>
    orders.message({ key: book, value: { customer: 'web', copies, cents }, headers: { id } }),
  ),
  async look(place) {
    const ordersOf = Map.groupBy(once, ({ book }) => book)
    const expected = new Map(
      [...ordersOf].map(([book, list]) => [book, { orders: list.length, copies: copiesOf(list) }]),
    )
    const sales = await readStates(place.store, sellBooks, Sales, [...ordersOf.keys()])
    const billed = await onceEach(place, invoices)
    const reprinted = Map.groupBy(await onceEach(place, reprints), ({ key }) => key)
    const sold = [...sales.values()].reduce((sum, { copies }) => sum + copies, 0)
    const runs = [...reprinted.values()].reduce((sum, list) => sum + list.length, 0)
    return {
      sent: `${count} orders, ${sent.length - count} of them twice: ${sent.length} messages`,
      came: `${formatNumber(sold)} copies sold, ${billed.length} invoices, ${runs} reprints, one for each hundred copies of a book`,
      proof: 'Nothing was counted, invoiced or printed twice, and nothing was lost.',
      problems: [
        ...differences('sales of', expected, sales),
        ...differences(
          'invoice of',
          new Map(once.map(({ id, copies, cents }) => [id, [copies * cents]])),
          new Map(
            [...Map.groupBy(billed, ({ key }) => key)].map(([key, list]) => [
              key,
              list.map(({ value }) => value.cents),
            ]),
          ),
        ),
        ...[...expected].flatMap(
          ([book, { copies }]) =>
            difference(
              `reprints of ${book}`,
              Math.floor(copies / 100),
              reprinted.get(book)?.length ?? 0,
            ) ?? [],
        ),
      ],
    }
  },
}

function copiesOf(list: readonly { readonly copies: number }[]): number {
  return list.reduce((sum, { copies }) => sum + copies, 0)
}
