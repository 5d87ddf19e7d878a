import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PolluxError } from '../errors.ts'
import type { MigratableStore } from '../ports/store.ts'
import type { PostgresOptions, PostgresPlainOptions } from '../postgres/index.ts'
import {
  isPostgresChosen,
  type ResolvedSettings,
  sectionOptions,
} from './settings/resolve-settings.ts'
import type { SettingName } from './settings/settings.ts'

/** The store of the configuration, not opened yet. */
export async function openStore(resolved: ResolvedSettings): Promise<MigratableStore> {
  if (isPostgresChosen(resolved)) {
    const { postgres } = await import('../postgres/index.ts')
    return postgres(postgresOptions(resolved))
  }
  const { pgliteStore } = await import('../embedded/pglite-store.ts')
  return pgliteStore({
    folder: embeddedStoreFolder(resolved),
    schema: resolved.settings.schema,
  })
}

/** The schema of the store's tables. */
export function storeSchema(resolved: ResolvedSettings): string {
  const { schema = resolved.settings.schema } = isPostgresChosen(resolved)
    ? postgresOptions(resolved)
    : {}
  return schema
}

/** Where the embedded store keeps its data. */
export function embeddedStoreFolder({ settings }: ResolvedSettings): string {
  return join(settings.folder, 'store')
}

/**
 * Works with a store that is there already, and closes it whatever becomes of the work.
 * @throws POLLUX_OPTION_INVALID when there is no embedded store: whoever meant another would not notice that one was made.
 */
export async function withStore<Result>(
  resolved: ResolvedSettings,
  work: (store: MigratableStore) => Promise<Result>,
): Promise<Result> {
  const folder = embeddedStoreFolder(resolved)
  if (!isPostgresChosen(resolved) && !existsSync(folder)) {
    throw new PolluxError('POLLUX_OPTION_INVALID', `There is no embedded store in ${folder}.`, {
      hint: 'Name the database with --postgres postgres://user@host:5432/database, or another folder with --folder.',
    })
  }
  const store = await openStore(resolved)
  // Pending promises do not keep Node running.
  const alive = setInterval(() => {}, 2 ** 30)
  try {
    return await work(store)
  } finally {
    await store.close()
    clearInterval(alive)
  }
}

/** What the config file says of PostgreSQL, with what environment and flags say put over it. */
export function postgresOptions(resolved: ResolvedSettings): PostgresOptions {
  const { postgres } = resolved.settings
  const options = sectionOptions(resolved, 'postgres', plainSettings)
  if (postgres !== undefined) {
    options['connectionString'] = postgres
    delete options['pool']
  }
  // postgres() checks the whole of it, so that an error names the option whatever its origin.
  return options
}

const plainSettings = {
  schema: 'schema',
  migrate: 'postgresMigrate',
  poolSize: 'postgresPoolSize',
  connectTimeout: 'postgresConnectTimeout',
  statementTimeout: 'postgresStatementTimeout',
  lockTimeout: 'postgresLockTimeout',
} as const satisfies Record<keyof PostgresPlainOptions, SettingName>
