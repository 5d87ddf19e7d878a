/** A book that the demo speaks of. */
export interface Book {
  readonly number: string
  readonly title: string
}

/** Those that `examples/bookshop/legacy-shop.sql` has. */
export const books: readonly Book[] = [
  ['9781000000016', 'Emma'],
  ['9781000000023', 'Dracula'],
  ['9781000000030', 'Middlemarch'],
  ['9781000000047', 'Walden'],
  ['9781000000054', 'Ivanhoe'],
  ['9781000000061', 'Kim'],
  ['9781000000078', 'Villette'],
  ['9781000000085', 'Utopia'],
  ['9781000000092', 'Candide'],
  ['9781000000108', 'Persuasion'],
  ['9781000000115', 'Frankenstein'],
  ['9781000000122', 'An Almanac of Prices'],
].map(([number = '', title = '']) => ({ number, title }))

/** A number from 0 to below `below` that follows from `seed`: chance that is the same in each run. */
export function chance(seed: number, below: number): number {
  let mixed = Math.imul(seed + 1, 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) >>> 0) % below
}
