import { tellingWords } from '../telling-words.ts'
import { labelled } from './labelled.ts'

/** How often each word is in the sorted tickets of a subject. */
const counts = new Map(
  Object.entries(labelled).map(([subject, texts]) => {
    const count = new Map<string, number>()
    for (const word of texts.flatMap(tellingWords)) count.set(word, (count.get(word) ?? 0) + 1)
    return [subject, count] as const
  }),
)
const vocabulary = new Set([...counts.values()].flatMap((count) => [...count.keys()]))

/** What a ticket is about, and how probable that is: naive Bayes over its words. */
export function classify(text: string): {
  readonly subject: string
  readonly probability: number
} {
  const words = tellingWords(text).filter((word) => vocabulary.has(word))
  if (words.length === 0) return { subject: 'unclear', probability: 0 }
  const weights = [...counts].map(([subject, count]) => {
    const total = [...count.values()].reduce((sum, number) => sum + number, vocabulary.size)
    const weight = words.reduce(
      (product, word) => (product * (1 + (count.get(word) ?? 0))) / total,
      1,
    )
    return { subject, weight }
  })
  const sum = weights.reduce((before, { weight }) => before + weight, 0)
  const best = weights.reduce((one, other) => (other.weight > one.weight ? other : one))
  return { subject: best.subject, probability: Number((best.weight / sum).toFixed(3)) }
}
