import { moods, otherReviews, reviews } from '../../../examples/bookshop/topics.ts'
import { books } from '../books.ts'
import { differences } from '../difference.ts'
import type { ModelCounts } from '../model-process.ts'
import { onceEach, type Scene } from '../scene.ts'

type Mood = 'good' | 'bad' | 'neither'

const templates: readonly (readonly [language: string, text: string, mood: Mood | undefined])[] = [
  ['en', 'I love this book, it is wonderful!', 'good'],
  ['en', 'Terrible. I hate it.', 'bad'],
  ['en', 'A book.', 'neither'],
  ['de', 'Ein Buch.', undefined],
]

const all = books.flatMap(({ number: book }) =>
  templates.map(([language, text, mood], index) => ({
    id: `${book}-${index + 1}`,
    book,
    language,
    text,
    mood,
  })),
)

/** The model is busy now and then, and is killed once. */
export function reviewsScene(model: ModelCounts): Scene {
  const english = all.filter(({ mood }) => mood !== undefined)
  const others = all.filter(({ mood }) => mood === undefined)
  return {
    title: 'Router and delegate: reviews by language → a model in another process',
    events: all.map(({ id, book, language, text }) =>
      reviews.message({ key: id, value: { book, text }, headers: { id, language } }),
    ),
    async look(place) {
      const felt = new Map(
        [...Map.groupBy(await onceEach(place, moods), ({ key }) => key)].map(([key, list]) => [
          key,
          list.map(({ value }) => moodOf(value.mood)),
        ]),
      )
      const passed = new Map(
        (await onceEach(place, otherReviews)).map(({ key, raw }) => [key, String(raw.value)]),
      )
      const tally = [...felt.values()].flat()
      const counts = (['good', 'bad', 'neither'] as const).map(
        (mood) => `${tally.filter((one) => one === mood).length} ${mood}`,
      )
      return {
        sent: `${all.length} reviews, ${english.length} of them in English`,
        came: `${felt.size} moods: ${counts.join(', ')}; ${passed.size} reviews in other languages went by untouched`,
        table: `${sayModel(model)}\n`,
        proof: 'Each review in English has its mood, although the model was away.',
        problems: [
          ...differences('mood of', new Map(english.map(({ id, mood }) => [id, [mood]])), felt),
          ...differences(
            'other review',
            new Map(others.map(({ id, book, text }) => [id, JSON.stringify({ book, text })])),
            passed,
          ),
        ],
      }
    },
  }
}

function moodOf(mood: number): Mood {
  return mood > 0 ? 'good' : mood < 0 ? 'bad' : 'neither'
}

function sayModel({ answered, busy, kills }: ModelCounts): string {
  if (answered + busy === 0) return 'This time the model was asked nothing.'
  const killed = kills === 0 ? '' : '; it was killed in between, and started again'
  return `The model answered ${answered} calls and turned ${busy} away (429, come back in a second)${killed}.`
}
