import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { type PgvectorTable, pgvectorTable } from '../../src/postgres/index.ts'
import { dimensions } from './embed.ts'

/** An index of books in memory: PostgreSQL with pgvector inside this process. */
export async function openIndex(): Promise<{ table: PgvectorTable; close(): Promise<void> }> {
  const db = await PGlite.create({ extensions: { vector } })
  await db.exec(`
    create extension vector;
    create table books (id text primary key, embedding vector(${dimensions}), revision bigint);
  `)
  return {
    table: pgvectorTable({ db, table: 'books', version: 'revision' }),
    close: () => db.close(),
  }
}
