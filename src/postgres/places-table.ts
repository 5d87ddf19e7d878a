import { checkTable, type NewestRow, NewestRows, type NewestRowsOptions } from './newest-rows.ts'
import { quoted } from './queryable.ts'

/** What `placesTable` takes. */
export interface PlacesOptions extends NewestRowsOptions {
  /** The columns of the type `double precision`, in degrees. Default `latitude` and `longitude`. */
  readonly latitude?: string
  readonly longitude?: string
}

/** A point on the earth, in degrees. */
export interface Place {
  readonly latitude: number
  readonly longitude: number
}

/** An id and where it is. */
export interface PlaceRow extends NewestRow, Place {}

/** Where to look for places. */
export interface NearestPlaces extends Place {
  /** Metres. */
  readonly within: number
  /** Default 10. */
  readonly limit?: number
}

/** A table of places. */
export interface PlacesTable {
  /** Makes or replaces a row for each id; of several for an id the newest, else the last. One statement. */
  upsert(rows: readonly PlaceRow[]): Promise<void>
  /** Those within a distance, nearest first; `distance` in metres, on a sphere. */
  nearest(
    from: NearestPlaces,
  ): Promise<readonly { readonly id: string; readonly distance: number }[]>
  remove(ids: readonly string[]): Promise<void>
}

/**
 * A table of places in PostgreSQL with the extensions `cube` and `earthdistance`; the table is yours to make. An index
 * `using gist (ll_to_earth(latitude, longitude))` makes searching quick.
 * @throws POLLUX_OPTION_INVALID
 */
export function placesTable(options: PlacesOptions): PlacesTable {
  checkTable('placesTable()', options)
  const { latitude = 'latitude', longitude = 'longitude' } = options
  const type = 'double precision'
  const rows = new NewestRows<PlaceRow>(options, [
    { name: latitude, type, text: (row) => String(row.latitude) },
    { name: longitude, type, text: (row) => String(row.longitude) },
  ])
  const here = 'll_to_earth($1, $2)'
  const there = `ll_to_earth(${quoted(latitude)}, ${quoted(longitude)})`
  // The box holds the circle and some more; it is what the index knows.
  const search = `
    select ${rows.id} as id, earth_distance(${here}, ${there}) as distance
    from ${rows.table}
    where earth_box(${here}, $3) @> ${there} and earth_distance(${here}, ${there}) <= $3
    order by distance limit $4`
  return {
    upsert: (list) => rows.upsert(list),
    nearest: ({ latitude, longitude, within, limit = 10 }) =>
      rows.run(search, [latitude, longitude, within, limit]),
    remove: (ids) => rows.remove(ids),
  }
}
