import pg from 'pg'
import { server } from './database.ts'

/** A connection to the tables that the hand-written loops write; makes them. */
export async function openTables(schema: string): Promise<pg.Client> {
  const client = new pg.Client(server)
  await client.connect()
  await client.query(`set search_path = ${schema}`)
  await client.query(`create table mark (
    id text collate "C" primary key,
    applied_at timestamptz not null default now()
  )`)
  await client.query('create table price (key bytea primary key, value bytea not null)')
  return client
}

/** The id that the producer gave the event. */
export function eventId(headers: readonly object[] | undefined): string {
  const header = headers?.find((one) => 'id' in one)
  if (header === undefined) throw new Error('a message without an id')
  return String(header.id)
}
