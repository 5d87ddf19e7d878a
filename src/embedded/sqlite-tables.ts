import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { PolluxError } from '../errors.ts'
import { decodeHeaders, encodeHeaders } from '../header-bytes.ts'
import type { LogRange, Position, TopicPartition } from '../ports/broker.ts'
import type { GroupState } from './group-state.ts'
import type { LogEntry, LogWrites, Session, StoredRecord, StoredTopic } from './log-storage.ts'
import { partitionKey } from './partition-key.ts'
import { recordTable } from './sqlite-schema.ts'

type Row = Record<string, unknown>

interface PartitionStatements {
  readonly id: number
  readonly insert: StatementSync
  readonly read: StatementSync
  readonly first: StatementSync
  readonly trim: StatementSync
}

/** The tables of one open file. Synchronous: whoever calls it is alone on the connection. */
export class SqliteTables implements LogWrites {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  // Topics and partitions never change, so what was seen once stays true; a rollback may unsee it.
  readonly #topics = new Map<string, StoredTopic>()
  readonly #partitions = new Map<string, PartitionStatements>()
  readonly #groups = new Map<string, { readonly version: number; readonly state: GroupState }>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Forgets what was seen inside a transaction that was rolled back. */
  forget(): void {
    this.#topics.clear()
    this.#partitions.clear()
    this.#groups.clear()
  }

  topics(): readonly StoredTopic[] {
    return this.#all('select * from topics order by name').map(toTopic)
  }

  topic(name: string): StoredTopic | undefined {
    const known = this.#topics.get(name)
    if (known !== undefined) return known
    const row = this.#get('select * from topics where name = ?', name)
    if (row === undefined) return undefined
    const topic = toTopic(row)
    this.#topics.set(name, topic)
    return topic
  }

  range({ topic, partition }: TopicPartition): LogRange {
    const { id } = this.#partition({ topic, partition })
    const row = this.#get('select earliest, latest from partitions where id = ?', id)
    return { topic, partition, earliest: Number(row?.earliest), latest: Number(row?.latest) }
  }

  read(partition: TopicPartition, offset: number, max: number): readonly LogEntry[] {
    const rows = this.#partition(partition).read.all(
      offset,
      max,
    ) as unknown as readonly (readonly unknown[])[]
    return rows.map(toEntry)
  }

  firstAt(partition: TopicPartition, timestamp: number): number | undefined {
    const row = this.#partition(partition).first.get(timestamp)
    return row === undefined ? undefined : Number(row.offset)
  }

  groupNames(): readonly string[] {
    return this.#all('select name from groups union select group_name from offsets order by 1').map(
      ({ name }) => String(name),
    )
  }

  group(name: string): GroupState | undefined {
    const version = this.#get('select version from groups where name = ?', name)?.version
    if (version === undefined) return undefined
    const known = this.#groups.get(name)
    if (known?.version === version) return known.state
    // Version and state in one read: between two, another process may have saved.
    const row = this.#get('select version, state from groups where name = ?', name)
    const state = JSON.parse(String(row?.state)) as GroupState
    this.#groups.set(name, { version: Number(row?.version), state })
    return state
  }

  offsets(group: string): readonly Position[] {
    return this.#all(
      'select topic, partition, "offset", metadata from offsets where group_name = ? order by topic, partition',
      group,
    ).map(({ topic, partition, offset, metadata }) => ({
      topic: String(topic),
      partition: Number(partition),
      offset: Number(offset),
      ...(typeof metadata === 'string' ? { metadata } : {}),
    }))
  }

  sessions(): readonly Session[] {
    return this.#all('select id, beats, pid, host from sessions order by id').map(
      ({ id, beats, pid, host }) => ({
        id: String(id),
        beats: Number(beats),
        pid: Number(pid),
        host: String(host),
      }),
    )
  }

  addTopic({ name, id, partitions, retentionMs, retentionRecords }: StoredTopic): void {
    this.#run(
      'insert into topics values (?, ?, ?, ?, ?)',
      name,
      id,
      partitions,
      retentionMs ?? null,
      retentionRecords ?? null,
    )
    for (let partition = 0; partition < partitions; partition += 1) {
      const added = this.#run(
        'insert into partitions (topic, partition) values (?, ?)',
        name,
        partition,
      )
      this.#database.exec(recordTable(Number(added.lastInsertRowid)))
    }
  }

  append(partition: TopicPartition, records: readonly StoredRecord[]): void {
    const { latest } = this.range(partition)
    const { id, insert } = this.#partition(partition)
    if (!Number.isSafeInteger(latest + records.length)) {
      throw new PolluxError('POLLUX_OFFSET_UNSAFE', `${partitionKey(partition)} is full.`, {
        expected: 'offsets up to 2^53 - 1',
        found: `${latest} and ${records.length} more`,
        hint: 'Start a new topic.',
      })
    }
    let offset = latest
    for (const { timestamp, key, value, headers } of records) {
      insert.run(offset, timestamp, key, value, encodeHeaders(headers))
      offset += 1
    }
    this.#run('update partitions set latest = ? where id = ?', offset, id)
  }

  trim(partition: TopicPartition, before: number): void {
    const { earliest, latest } = this.range(partition)
    const to = Math.min(Math.max(before, earliest), latest)
    if (to === earliest) return
    const { id, trim } = this.#partition(partition)
    trim.run(to)
    this.#run('update partitions set earliest = ? where id = ?', to, id)
  }

  saveGroup(name: string, group: GroupState): void {
    this.#run(
      `insert into groups values (?1, 1, ?2)
       on conflict (name) do update set version = version + 1, state = ?2`,
      name,
      JSON.stringify(group),
    )
  }

  saveOffsets(group: string, positions: readonly Position[]): void {
    for (const { topic, partition, offset, metadata } of positions) {
      this.#run(
        `insert into offsets values (?1, ?2, ?3, ?4, ?5)
         on conflict (group_name, topic, partition) do update set "offset" = ?4, metadata = ?5`,
        group,
        topic,
        partition,
        offset,
        metadata ?? null,
      )
    }
  }

  producerEpoch(id: string): number | undefined {
    const row = this.#get('select epoch from producers where id = ?', id)
    return row === undefined ? undefined : Number(row.epoch)
  }

  saveProducerEpoch(id: string, epoch: number): void {
    this.#run(
      'insert into producers values (?1, ?2) on conflict (id) do update set epoch = ?2',
      id,
      epoch,
    )
  }

  saveSession({ id, beats, pid, host }: Session): void {
    this.#run(
      'insert into sessions values (?, ?, ?, ?) on conflict (id) do nothing',
      id,
      beats,
      pid,
      host,
    )
  }

  beat(session: string): boolean {
    return (
      Number(this.#run('update sessions set beats = beats + 1 where id = ?', session).changes) > 0
    )
  }

  removeSession(session: string): void {
    this.#run('delete from sessions where id = ?', session)
  }

  #partition(partition: TopicPartition): PartitionStatements {
    const name = partitionKey(partition)
    const known = this.#partitions.get(name)
    if (known !== undefined) return known
    const row = this.#get(
      'select id from partitions where topic = ? and partition = ?',
      partition.topic,
      partition.partition,
    )
    if (row === undefined) throw new Error(`There is no partition ${name}.`)
    const statements = preparePartition(this.#database, Number(row.id))
    this.#partitions.set(name, statements)
    return statements
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #get(sql: string, ...values: (string | number)[]): Row | undefined {
    return this.#statement(sql).get(...values)
  }

  #all(sql: string, ...values: (string | number)[]): Row[] {
    return this.#statement(sql).all(...values)
  }

  #run(sql: string, ...values: (string | number | null)[]): ReturnType<StatementSync['run']> {
    return this.#statement(sql).run(...values)
  }
}

function preparePartition(database: DatabaseSync, id: number): PartitionStatements {
  const table = `records_${id}`
  const read = database.prepare(
    `select "offset", timestamp, key, value, headers from ${table} where "offset" >= ? order by "offset" limit ?`,
  )
  read.setReturnArrays(true)
  return {
    id,
    read,
    insert: database.prepare(`insert into ${table} values (?, ?, ?, ?, ?)`),
    first: database.prepare(
      `select "offset" from ${table} where timestamp >= ? order by "offset" limit 1`,
    ),
    trim: database.prepare(`delete from ${table} where "offset" < ?`),
  }
}

function toTopic({
  name,
  id,
  partitions,
  retention_ms: ms,
  retention_records: records,
}: Row): StoredTopic {
  return {
    name: String(name),
    id: String(id),
    partitions: Number(partitions),
    retentionMs: ms === null ? undefined : Number(ms),
    retentionRecords: records === null ? undefined : Number(records),
  }
}

function toEntry([offset, timestamp, key, value, headers]: readonly unknown[]): LogEntry {
  return {
    offset: offset as number,
    timestamp: timestamp as number,
    key: toBuffer(key),
    value: toBuffer(value),
    headers: decodeHeaders(toBuffer(headers)),
  }
}

function toBuffer(bytes: unknown): Buffer | null {
  if (!(bytes instanceof Uint8Array)) return null
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
