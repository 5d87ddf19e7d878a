import { hash } from 'node:crypto'
import { tellingWords } from '../telling-words.ts'

/** How many numbers an embedding has. */
export const dimensions = 256

/**
 * A text as numbers, near to those of texts with the same words: each telling word counts for one of the numbers, which its hash
 * chooses, as does the sign ("feature hashing"). It knows words and no meanings: a synonym is another word.
 */
export function embed(text: string): readonly number[] {
  const embedding = Array.from({ length: dimensions }, () => 0)
  for (const word of new Set(tellingWords(text))) {
    const number = Number.parseInt(hash('sha256', word).slice(0, 8), 16)
    const place = number % dimensions
    const sign = number < 2 ** 31 ? 1 : -1
    embedding[place] = (embedding[place] ?? 0) + sign
  }
  return embedding
}
