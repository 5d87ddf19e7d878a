import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import type { PostgresClient, PostgresPool, PostgresStatement } from '../../src/postgres/index.ts'

// `text[]` and `bytea[]`, which the sidecar gives in PostgreSQL's binary form, as `pg` takes it.
const pass = (value: unknown): string => value as string
const serializers = { 1009: pass, 1001: pass }

/** As much of a pool of `pg` as is used here. */
export interface PglitePool extends PostgresPool {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: Record<string, unknown>[] }>
  close(): Promise<void>
}

/**
 * A pool over PGlite in a folder, so that a sidecar can be tried without a server: it knows no difference. There is one
 * connection, which is lent to one after the other. A folder may be in use by one process at a time.
 * @param setUp SQL for a new database.
 */
export function pglitePool(folder: string, setUp: string): PglitePool {
  let opened: Promise<PGlite> | undefined
  let turns: Promise<void> = Promise.resolve()
  async function connect(): Promise<PostgresClient> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = turns
    turns = promise
    await before
    try {
      opened ??= open(folder, setUp)
      return clientOf(await opened, resolve)
    } catch (error) {
      opened = undefined
      resolve()
      throw error
    }
  }
  return {
    options: { host: folder },
    on() {},
    off() {},
    connect,
    async query(text, values = []) {
      const client = await connect()
      try {
        return await client.query({ text, values })
      } finally {
        client.release()
      }
    },
    async close() {
      await turns
      await (await opened)?.close()
      opened = undefined
    },
  }
}

async function open(folder: string, setUp: string): Promise<PGlite> {
  const marker = join(folder, 'complete')
  // Whoever was killed while it was made has left half of a database.
  if (!existsSync(marker)) rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const database = await PGlite.create(join(folder, 'pglite'))
  if (!existsSync(marker)) {
    await database.exec(setUp)
    writeFileSync(marker, '')
  }
  return database
}

function clientOf(database: PGlite, giveBack: () => void): PostgresClient {
  return {
    on() {},
    off() {},
    async query({ text, values }: PostgresStatement) {
      if (values === undefined) {
        await database.exec(text)
        return { rows: [] }
      }
      return await database.query<Record<string, unknown>>(text, values, { serializers })
    },
    release(isBroken) {
      const ready = isBroken === true ? database.exec('rollback') : Promise.resolve()
      void ready.catch(() => {}).finally(giveBack)
    },
  }
}
