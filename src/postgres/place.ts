import type { PostgresOptions } from './options.ts'

/** Where the database is, for messages: `host:port/database`, without user and password. */
export function place({ connectionString, pool }: PostgresOptions): string {
  const given = pool === undefined ? { connectionString } : pool.options
  const url = given.connectionString === undefined ? undefined : new URL(given.connectionString)
  const { PGHOST, PGPORT, PGDATABASE, PGUSER } = process.env
  const own = 'host' in given ? given : {}
  const user = own.user ?? decoded(url?.username)
  const host = own.host ?? url?.searchParams.get('host') ?? url?.hostname
  const port = own.port ?? url?.port
  const database = own.database ?? decoded(url?.pathname.slice(1))
  return `${host || PGHOST || 'localhost'}:${port || PGPORT || 5432}/${database || PGDATABASE || user || PGUSER || ''}`
}

function decoded(text = ''): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
