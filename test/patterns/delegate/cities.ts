import { citiesAbove } from '../../../examples/nearest-cafe/cities.ts'

/** Every city of some size: what is near to what is known of those. */
export const cities = citiesAbove(200_000)

/** The middle of Delft, and the large cities around it, nearest first, in kilometres as the crow flies. */
export const delft = { latitude: 52.0116, longitude: 4.3571 }
export const aroundDelft: readonly (readonly [string, number])[] = [
  ['The Hague', 8.3],
  ['Rotterdam', 13],
]

/** The names of what was found, with whole tenths of kilometres. */
export function inKilometres(
  found: readonly { readonly id: string; readonly distance: number }[],
): [string, number][] {
  return found.map(({ id, distance }) => [
    id.replace(/ [A-Z]{2} \d+$/, ''),
    Math.round(distance / 100) / 10,
  ])
}
