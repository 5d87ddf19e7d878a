import { randomUUID } from 'node:crypto'
import pg from 'pg'

const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE } = process.env

/** The server that tests use: by the usual variables, else the local one. */
export const server = {
  host: PGHOST ?? '127.0.0.1',
  port: Number(PGPORT ?? 5432),
  user: PGUSER ?? 'postgres',
  password: PGPASSWORD,
  database: PGDATABASE ?? 'postgres',
} as const

/** The server's address, with some of its parts replaced. */
export function address(parts: Partial<Record<keyof typeof server, string | number>> = {}): string {
  const { host, port, user, password, database } = { ...server, ...parts }
  const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`
  return `postgres://${user}${secret}@${host}:${port}/${database}`
}

// Keeps no process alive, so that no test has to end it after all others.
const pool = new pg.Pool({ ...server, max: 4, allowExitOnIdle: true })
pool.on('error', () => {})

/** Asks the server, past any store. */
export async function ask(
  text: string,
  params?: unknown[],
): Promise<readonly Record<string, unknown>[]> {
  return (await pool.query<Record<string, unknown>>(text, params)).rows
}

/** A client of its own, for what needs a session. The caller ends it. */
export async function newClient(user: string = server.user): Promise<pg.Client> {
  const client = new pg.Client({ ...server, user })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** A name for a schema, role or database of one test file, which drops it. */
export function freshName(): string {
  return `pollux_test_${randomUUID().replaceAll('-', '').slice(0, 12)}`
}
