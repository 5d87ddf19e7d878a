import { covers, readyForPrint, texts } from '../../../examples/bookshop/topics.ts'
import { textTable } from '../../../src/cli/text-table.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { PostgresTransaction } from '../../../src/postgres/index.ts'
import { books, chance } from '../books.ts'
import { differences } from '../difference.ts'
import { onceEach, type Scene } from '../scene.ts'

/** Its cover is never approved. */
const withoutCover = books[0]
/** The other scene sends no price of it. */
export const withoutPrice: typeof withoutCover = books[1]
const ready = books.filter((book) => book !== withoutCover && book !== withoutPrice)

const facts = books.flatMap(({ number: key, title }, index) => {
  const headers = { id: `${key}/text` }
  const text = texts.message({ key, value: { title, pages: 200 + chance(index, 300) }, headers })
  return [
    text,
    ...(index % 3 === 0 ? [text] : []),
    cover(key, false),
    cover(key, key !== withoutCover?.number),
  ]
})

function cover(key: string, approved: boolean) {
  const headers = { id: `${key}/${approved ? 'cover' : 'draft'}` }
  return covers.message({ key, value: { artist: 'A. Beardsley', approved }, headers })
}

/** Facts come in no order, and some of them twice. */
export const gateScene: Scene = {
  title: 'Gate: text ready, cover approved, price set → ready for print',
  events: facts
    .map((fact, index) => ({ fact, place: chance(index, 1_000) }))
    .sort((a, b) => a.place - b.place)
    .map(({ fact }) => fact),
  async look(place) {
    const told = Map.groupBy(await onceEach(place, readyForPrint), ({ key }) => key)
    const rows = await readTable(place.store)
    const titles = new Map(
      [...told].map(([key, messages]) => [key, messages.map(({ value }) => value.title)]),
    )
    const waiting = books.filter(({ number }) => !titles.has(number))
    return {
      sent: `${facts.length} texts and covers of ${books.length} books in no order, some twice, beside the prices below`,
      came: `${titles.size} books are ready for print; the table book_readiness says what the others wait for:`,
      table: textTable(
        ['book', 'text_ready', 'cover_approved', 'price_set', 'opened_at'].map((heading) => ({
          heading,
        })),
        [...waiting, ...ready.slice(-1)].map(({ number, title }) => [
          title,
          ...(rows.get(number) ?? []).map((isThere) => (isThere ? '✓' : '-')),
        ]),
      ),
      proof: 'Each of them was told once, and none that waits.',
      problems: [
        ...differences(
          'ready for print',
          new Map(ready.map(({ number, title }) => [number, [title]])),
          titles,
        ),
        ...[withoutCover, withoutPrice].flatMap((book) =>
          titles.has(book?.number ?? '') ? [`ready for print: ${book?.title} is not`] : [],
        ),
      ],
    }
  },
}

/** Whether each fact is there, and the gate is open, by book. */
async function readTable({
  transactions,
}: Store): Promise<ReadonlyMap<string, readonly boolean[]>> {
  const transaction = await transactions?.begin()
  try {
    const rows = await transaction?.attempt((db) =>
      (db as PostgresTransaction).query<{ readonly key: string; readonly has: readonly boolean[] }>(
        `select key, array[text_ready is not null, cover_approved is not null, price_set is not null,
          opened_at is not null] as has from book_readiness`,
      ),
    )
    return new Map(rows?.map(({ key, has }) => [key, has]))
  } finally {
    await transaction?.rollback()
  }
}
