import type { LedgerPartition, LedgerRow } from '../ports/store.ts'
import { int4Array, textArray } from './arrays.ts'
import { readBytes, readInteger, readRanges } from './rows.ts'
import type { Sql, SqlRow } from './sql.ts'
import { sqlState } from './sql-errors.ts'
import { decodeOutputs } from './stored-outputs.ts'

/** What taking over needs to know of its store. */
export interface AcquireStore {
  /** A quoted identifier. */
  readonly schema: string
  /** Milliseconds to wait for a former owner's transaction, which is ended then. */
  readonly lockTimeout: number
}

/** Takes over partitions. */
export async function acquire(
  sql: Sql,
  { schema, lockTimeout }: AcquireStore,
  service: string,
  partitions: readonly LedgerPartition[],
): Promise<readonly LedgerRow[]> {
  const asked = [
    service,
    textArray(partitions.map(({ topic }) => topic)),
    int4Array(partitions.map(({ partition }) => partition)),
  ]
  const topicIds = textArray(partitions.map(({ topicId }) => topicId))
  const bumped = await bump(sql, schema, [...asked, topicIds, `${lockTimeout}ms`])
  const epochs = new Map(
    bumped.map(({ out_topic, out_partition, out_epoch }) => [
      place({ topic: out_topic, partition: out_partition }),
      readInteger(out_epoch),
    ]),
  )
  // A statement of its own, begun after the bump was committed: it sees all that older owners did
  // commit. The epoch is the bump's, not this one's: if another owner bumped in between, we must
  // hold the older one.
  const found = await sql.query(ledgerSql(schema), asked)
  const byPlace = Map.groupBy(found, (row) => readInteger(row['place']))
  return partitions.map((partition, index) =>
    ledgerRow(partition, byPlace.get(index + 1) ?? [], epochs.get(place(partition))),
  )
}

const mostTries = 3
const lockTimedOut = '55P03'

/**
 * An owner that is frozen in the middle of a transaction would hold its rows, and with them its
 * successor, for as long as the server lets it. It has had its time: it is ended.
 */
async function bump(
  sql: Sql,
  schema: string,
  params: readonly unknown[],
): Promise<readonly SqlRow[]> {
  const text = `select * from ${schema}.pollux_acquire_1($1, $2, $3, $4, $5)`
  for (let tries = 1; ; tries += 1) {
    try {
      return await sql.query(text, params)
    } catch (error) {
      if (sqlState(error) !== lockTimedOut || tries === mostTries) throw error
      await sql.query(endHoldersSql(schema), params.slice(0, 3))
    }
  }
}

// A row's xmax is the transaction that changes it right now, and holds a lock on its own number. Nobody
// but stores changes these rows; yet a session of another name is left to whoever opened it.
function endHoldersSql(schema: string): string {
  return `select pg_terminate_backend(holder.pid)
    from unnest($2::text[], $3::int4[]) as given (topic, partition)
    join ${schema}.pollux_ledger as ledger
      on ledger.service = $1 and ledger.topic = given.topic and ledger.partition = given.partition
    join pg_locks as held
      on held.locktype = 'transactionid' and held.transactionid = ledger.xmax and held.granted
    join pg_stat_activity as holder on holder.pid = held.pid
    where holder.pid <> pg_backend_pid() and holder.datname = current_database()
      and holder.usename = current_user
      and holder.application_name = current_setting('application_name')`
}

function ledgerSql(schema: string): string {
  return `select given.place, given.topic, given.partition,
      ledger.topic_id, ledger.unit, ledger.next, ledger.settled::text as settled,
      stored.unit as stored_unit, stored.records, stored.outputs
    from unnest($2::text[], $3::int4[]) with ordinality as given (topic, partition, place)
    join ${schema}.pollux_ledger as ledger
      on ledger.service = $1 and ledger.topic = given.topic and ledger.partition = given.partition
    left join lateral (
      select outbox.unit, outbox.records, outbox.outputs from ${schema}.pollux_outbox as outbox
      where outbox.service = $1 and outbox.topic = given.topic
        and outbox.partition = given.partition and outbox.unit > ledger.acknowledged
    ) as stored on true
    order by given.place, stored.unit`
}

function place({
  topic,
  partition,
}: {
  readonly topic?: unknown
  readonly partition?: unknown
}): string {
  return `${String(topic)}/${String(partition)}`
}

/** The row of one partition, from those that were found of it: one for each unit's outputs. */
function ledgerRow(
  { topic, partition }: LedgerPartition,
  found: readonly SqlRow[],
  epoch: number | undefined,
): LedgerRow {
  const [row = {}] = found
  return {
    topic,
    partition,
    topicId: String(row['topic_id']),
    epoch: readInteger(epoch),
    unit: readInteger(row['unit']),
    next: row['next'] === null ? undefined : readInteger(row['next']),
    settled: readRanges(row['settled']),
    unpublished: found
      .filter(({ stored_unit }) => stored_unit !== null)
      .map(({ stored_unit, records, outputs }) => ({
        unit: readInteger(stored_unit),
        records: decodeOutputs(readBytes(outputs), readInteger(records)),
      })),
  }
}
