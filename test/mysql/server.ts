import { randomUUID } from 'node:crypto'
import { createConnection } from 'mysql2/promise'

const { MYSQL_URL = 'mysql://root@127.0.0.1:3306' } = process.env

/** The server that tests use: by MYSQL_URL, else the local one. */
export const server = new URL(MYSQL_URL)

/** The server's address, with a database and other parts replaced. */
export function address(
  database: string,
  parts: Partial<Record<'port' | 'host' | 'username', string>> = {},
): string {
  const url = new URL(server)
  Object.assign(url, parts)
  url.pathname = `/${database}`
  return url.href
}

/** Asks the server, past any target, on a connection of its own. Numbers and times come as text. */
export async function ask(
  statement: string,
  database = '',
): Promise<readonly Record<string, unknown>[]> {
  const connection = await createConnection({
    uri: address(database),
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
  })
  try {
    const [rows] = await connection.query(statement)
    return rows as Record<string, unknown>[]
  } finally {
    await connection.end()
  }
}

/** A name for a database of one test file, which drops it. */
export function freshName(): string {
  return `pollux_test_${randomUUID().replaceAll('-', '').slice(0, 12)}`
}
