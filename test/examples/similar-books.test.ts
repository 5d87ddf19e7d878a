import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { embed } from '../../examples/similar-books/embed.ts'
import { openIndex } from '../../examples/similar-books/open-index.ts'
import { books, indexBooks, similarBooks } from '../../examples/similar-books/services.ts'
import { newBooks, shelf } from '../../examples/similar-books/shelf.ts'
import { CrashProcess, testRuntime } from '../../src/testing/index.ts'
import { realClock } from '../patterns/delegate/scene.ts'

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, number, index) => sum + number * (b[index] ?? 0), 0)
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other))
}

const sentences = Object.values(shelf).flatMap(([, text]) => text.split(/(?<=\.) /))

/** Books that have a sentence of one book and one of another. */
const mixed = Object.fromEntries(
  Array.from({ length: 200 }, (_, index) => [
    `mixed-${index}`,
    `${sentences[index % sentences.length]} ${sentences[(index * 7 + 3) % sentences.length]}`,
  ]),
)

// Each has a PGlite to start.
describe('similar books', { concurrency: 2 }, () => {
  test('cases 33 and 34: the index finds the books that a look at every one of them finds, by their newest descriptions', async () => {
    const { table, close } = await openIndex()
    {
      await using runtime = await testRuntime(indexBooks(table), { clock: realClock })
      const descriptions = new Map<string, string>()
      const bring = async (list: Iterable<[string, string]>, revision = 2): Promise<void> => {
        const messages = [...list].map(([key, description]) => {
          descriptions.set(key, description)
          return books.message({ key, value: { title: key, description, revision } })
        })
        await runtime.send(...messages)
        await runtime.settled()
      }
      const known = Object.entries(shelf).map(([key, [, text]]): [string, string] => [key, text])
      await bring([...known, ...Object.entries(mixed)])
      // An older description, late.
      const before = descriptions.get('emma') ?? ''
      await bring([['emma', 'A captain hunts a white whale.']], 1)
      descriptions.set('emma', before)
      // One after the other, as each has to know those before it.
      for (const [key, [, text]] of Object.entries(newBooks)) await bring([[key, text]])
      await bring([['emma again', before]])

      const embeddings = new Map([...descriptions].map(([key, text]) => [key, embed(text)]))
      const answers = await runtime.messages(similarBooks)
      for (const key of [...Object.keys(newBooks), 'emma again']) {
        const earlier = [...embeddings.keys()]
        const own = embeddings.get(key) ?? []
        const similarity = new Map(
          earlier
            .slice(0, earlier.indexOf(key))
            .map((other) => [other, cosine(own, embeddings.get(other) ?? [])]),
        )
        const best = [...similarity.values()].toSorted((a, b) => b - a).slice(0, 3)
        const found = answers.find((message) => message.key === key)?.value.similar ?? []
        assert.equal(found.length, 3)
        for (const [index, { id, similarity: said }] of found.entries()) {
          // Of several that are as similar, any may be there.
          assert.ok(Math.abs(said - (best[index] ?? 0)) < 1e-6, `${key}: ${id} ${said}, ${best}`)
          assert.ok(Math.abs(said - (similarity.get(id) ?? 0)) < 1e-6, `${key}: ${id}`)
        }
      }
      assert.equal(answers.find(({ key }) => key === 'emma again')?.value.similar[0]?.id, 'emma')
    }
    await close()
  })

  test('the example runs', async () => {
    const main = new CrashProcess(new URL('../../examples/similar-books/main.ts', import.meta.url))
    assert.equal(await main.ended(), 0, main.errors)
    assert.equal(main.lines.length, 3)
    assert.ok(
      main.lines.includes(
        'The Sign of the Four: study-in-scarlet (0.74), hound-of-the-baskervilles (0.37), jekyll-and-hyde (0.33)',
      ),
      main.lines.join('\n'),
    )
  })
})
