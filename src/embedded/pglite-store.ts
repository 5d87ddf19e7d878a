import { shown } from '../errors.ts'
import { Problems } from '../options.ts'
import type { MigratableStore } from '../ports/store.ts'
import { schemaOption } from '../sql/schema-option.ts'
import { SqlStore } from '../sql/sql-store.ts'
import { connectPglite } from './pglite/pglite-connection.ts'

export interface PgliteStoreOptions {
  /**
   * Where the database lives; made when missing. One process at a time. Default: none, the database
   * is in memory and gone with the process.
   */
  readonly folder?: string
  /** The PostgreSQL schema of the tables. Default `pollux`. */
  readonly schema?: string
}

// About 20 ms of the event loop, which nothing else gets meanwhile. Larger ones are hardly faster.
const largestUnit = 500

/**
 * A store on PGlite, PostgreSQL inside this process; needs the package `@electric-sql/pglite`.
 *
 * A unit that was committed survives the end of the process, `kill -9` included. It may not survive
 * the end of the machine: PGlite does not wait for the disk. Statements run on the event loop.
 *
 * `open` rejects with POLLUX_DRIVER_MISSING, POLLUX_FOLDER_LOCKED when another process has the
 * folder, and POLLUX_FOLDER_INVALID when the folder's data is damaged or of a newer version.
 * @throws POLLUX_OPTION_INVALID
 */
export function pgliteStore(options: PgliteStoreOptions = {}): MigratableStore {
  const { folder, schema } = checked(options)
  return new SqlStore({
    name: folder === undefined ? 'PGlite in memory' : `PGlite ${folder}`,
    schema,
    newerCode: 'POLLUX_FOLDER_INVALID',
    largestUnit,
    connect: () => connectPglite(folder),
  })
}

function checked(options: PgliteStoreOptions): { folder: string | undefined; schema: string } {
  const problems = new Problems()
  const { folder, schema = schemaOption.default, ...unknown } = options
  if (folder !== undefined && (typeof folder !== 'string' || folder === '')) {
    problems.add(`folder: expected a path, found ${shown(folder)}`)
  }
  if (schemaOption.read(schema) === undefined) {
    problems.add(`schema: expected ${schemaOption.expected}, found ${shown(schema)}`)
  }
  for (const name of Object.keys(unknown))
    problems.add(`${name}: unknown option; known are folder, schema`)
  problems.throwIfAny('The PGlite store is set up wrongly')
  return { folder, schema }
}
