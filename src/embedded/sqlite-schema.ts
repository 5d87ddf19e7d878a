import type { DatabaseSync } from 'node:sqlite'
import { PolluxError } from '../errors.ts'

/** 'Plux', so that a file of somebody else is not taken for ours. */
const applicationId = 0x506c7578
/** Raised with each change that an older version cannot read. */
export const schemaVersion = 2

const schema = `
  create table topics (
    name text primary key,
    id text not null,
    partitions integer not null,
    retention_ms integer,
    retention_records integer
  ) strict;
  create table partitions (
    id integer primary key,
    topic text not null references topics (name),
    partition integer not null,
    earliest integer not null default 0,
    latest integer not null default 0,
    unique (topic, partition)
  ) strict;
  create table groups (name text primary key, version integer not null, state text not null) strict;
  create table offsets (
    group_name text not null,
    topic text not null,
    partition integer not null,
    "offset" integer not null,
    metadata text,
    primary key (group_name, topic, partition)
  ) strict, without rowid;
  create table sessions (
    id text primary key,
    beats integer not null,
    pid integer not null,
    host text not null
  ) strict;
`

/** From format 1. */
const addMetadata = 'alter table offsets add column metadata text'

/** Made in each file that lacks it: versions that do not know it need not read it. */
const producerTable =
  'create table if not exists producers (id text primary key, epoch integer not null) strict, without rowid'

/**
 * The records of one partition: a table of its own, so that an offset is its row's own number and appending never
 * touches another place of the file.
 */
export function recordTable(id: number): string {
  return `create table records_${id} (
    "offset" integer primary key,
    timestamp integer not null,
    key blob,
    value blob,
    headers blob
  ) strict`
}

/**
 * Makes the tables in a new file. Call it inside a transaction.
 * @throws POLLUX_FOLDER_INVALID for a file of a newer version, or of somebody else.
 */
export function migrate(database: DatabaseSync, file: string): void {
  const version = pragma(database, 'user_version')
  const application = pragma(database, 'application_id')
  const tables = Number(
    database.prepare('select count(*) as count from sqlite_schema').get()?.count,
  )
  if (version === 0 && application === 0 && tables === 0) {
    database.exec(schema)
    database.exec(producerTable)
    database.exec(
      `pragma application_id = ${applicationId}; pragma user_version = ${schemaVersion}`,
    )
    return
  }
  if (application === applicationId && version === 1)
    database.exec(`${addMetadata}; pragma user_version = ${schemaVersion}`)
  if (application === applicationId && version >= 1 && version <= schemaVersion)
    return database.exec(producerTable)
  throw new PolluxError('POLLUX_FOLDER_INVALID', `The embedded broker cannot use ${file}.`, {
    expected: `a log of format ${schemaVersion}`,
    found:
      application === applicationId ? `format ${version}` : 'a database that Pollux did not make',
    hint:
      application === applicationId
        ? 'Use the version of Pollux that wrote it, or another folder.'
        : 'Use another folder.',
  })
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`pragma ${name}`).get()?.[name])
}
