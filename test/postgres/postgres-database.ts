import pg from 'pg'
import { PostgresConnection } from '../../src/postgres/postgres-connection.ts'
import { type TestDatabase, testDatabase } from '../sql/test-database.ts'
import { address, ask, freshName, server } from './server.ts'

/** A database of its own on the server, with so many sessions. It is dropped when it is closed. */
export async function postgresDatabase(sessions = 4): Promise<TestDatabase> {
  const database = freshName()
  await ask(`create database ${database}`)
  const pool = new pg.Pool({ connectionString: address({ database }), max: sessions })
  const connection = new PostgresConnection(pool, {
    name: `postgres ${server.host}:${server.port}/${database}`,
    answerLimit: 60_000,
    end: async () => {},
  })
  return testDatabase(connection, async () => {
    await pool.end()
    await ask(`drop database ${database} with (force)`)
  })
}
