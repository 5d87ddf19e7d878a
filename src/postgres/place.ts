import type { PostgresOptions } from './options.ts'

/** Where the database is, for messages: `host:port/database`, without user and password. */
export function place({ connectionString, pool }: PostgresOptions): string {
  const parts = pool?.options ?? {}
  const url = urlOf(connectionString ?? parts.connectionString)
  const { PGHOST, PGPORT, PGDATABASE, PGUSER } = process.env
  const host = parts.host || url?.searchParams.get('host') || url?.hostname || PGHOST
  const port = parts.port || url?.port || PGPORT
  const user = parts.user || decoded(url?.username) || PGUSER
  const database = parts.database || decoded(url?.pathname.slice(1)) || PGDATABASE || user
  return `${host || 'localhost'}:${port || 5432}/${database || ''}`
}

/** A pool of the user's may have any text: pg also knows others than addresses. */
function urlOf(text: string | undefined): URL | undefined {
  return text === undefined || !URL.canParse(text) ? undefined : new URL(text)
}

function decoded(text = ''): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
