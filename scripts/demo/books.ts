import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../command.ts'

/** A book that the demo speaks of. */
export interface Book {
  readonly number: string
  readonly title: string
  readonly shelf: string
}

const shop = readFileSync(join(root, 'examples/bookshop/legacy-shop.sql'), 'utf8')

/** Those that the legacy shop sells. */
export const books: readonly Book[] = [...shop.matchAll(/\('(\d+)', '(.+)', '(.+)'\)/g)].map(
  ([, number = '', title = '', shelf = '']) => ({ number, title, shelf }),
)

/** A number from 0 to below `below` that follows from `seed`: chance that is the same in each run. */
export function chance(seed: number, below: number): number {
  let mixed = Math.imul(seed + 1, 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) >>> 0) % below
}
