// Puts a shelf of books into an index in memory, then brings new ones and prints which books are most like each of them.
import { embeddedBroker } from '../../src/embedded/index.ts'
import { run } from '../../src/index.ts'
import { areSettled, eventually, messagesOf, sendTo } from '../../src/testing/index.ts'
import { openIndex } from './open-index.ts'
import { books, indexBooks, similarBooks } from './services.ts'
import { newBooks, type Shelf, shelf } from './shelf.ts'

const { table, close } = await openIndex()
const service = indexBooks(table)
const broker = embeddedBroker()
const runtime = await run(service, { broker, createTopics: true })

async function bring(some: Shelf): Promise<void> {
  const messages = Object.entries(some).map(([key, [title, description]]) =>
    books.message({ key, value: { title, description, revision: 1 } }),
  )
  await sendTo(broker, ...messages)
  await eventually('all are in the index', () => areSettled(broker, [service]))
}

await bring(shelf)
await bring(newBooks)
for (const { key, value } of await messagesOf(broker, similarBooks)) {
  if (!(key in newBooks)) continue
  const found = value.similar.map(({ id, similarity }) => `${id} (${similarity.toFixed(2)})`)
  console.log(`${value.title}: ${found.join(', ')}`)
}
await runtime.stop()
await close()
