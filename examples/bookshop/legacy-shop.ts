import { readFileSync } from 'node:fs'
import type { Target } from '../../src/index.ts'
import { postgresTable } from '../../src/postgres/index.ts'
import { type PglitePool, pglitePool } from './pglite-pool.ts'

const setUp = new URL('legacy-shop.sql', import.meta.url)

/**
 * The shop's own database, which is none of Pollux's: `postgres://…`, where legacy-shop.sql has been run, or a folder, where
 * it is PGlite, and is run by itself.
 */
export function shopTable(place: string): Target {
  const table = 'legacy.item_master'
  return place.includes('://')
    ? postgresTable({ table, connectionString: place })
    : postgresTable({ table, pool: shopPool(place) })
}

/** The database in a folder. */
export function shopPool(folder: string): PglitePool {
  return pglitePool(folder, readFileSync(setUp, 'utf8'))
}

// The shop's own program, which prints what it sells: npx node examples/bookshop/legacy-shop.ts .pollux/shop
if (import.meta.main) {
  const shop = shopPool(process.argv[2] ?? '.pollux/shop')
  const { rows } = await shop.query(
    'select descr, unit_price, curr, shelf from legacy.item_master order by descr',
  )
  console.table(rows)
  await shop.close()
}
