import type { LedgerPartition, LedgerRow } from '../ports/store.ts'
import { int4Array, textArray } from './arrays.ts'
import { readBytes, readInteger, readRanges } from './rows.ts'
import type { Sql, SqlRow } from './sql.ts'
import { decodeOutputs } from './stored-outputs.ts'

/** Takes over partitions. */
export async function acquire(
  sql: Sql,
  schema: string,
  service: string,
  partitions: readonly LedgerPartition[],
): Promise<readonly LedgerRow[]> {
  const params = [
    service,
    textArray(partitions.map(({ topic }) => topic)),
    int4Array(partitions.map(({ partition }) => partition)),
  ]
  const topicIds = textArray(partitions.map(({ topicId }) => topicId))
  const bumped = await sql.query(bumpSql(schema), [...params, topicIds])
  const epochs = new Map(bumped.map((row) => [place(row), readInteger(row['epoch'])]))
  // A statement of its own, begun after the bump was committed: it sees all that older owners did
  // commit. The epoch is the bump's, not this one's: if another owner bumped in between, we must
  // hold the older one.
  const found = await sql.query(ledgerSql(schema), params)
  const byPlace = Map.groupBy(found, (row) => readInteger(row['place']))
  return partitions.map((partition, index) =>
    ledgerRow(partition, byPlace.get(index + 1) ?? [], epochs.get(place(partition))),
  )
}

function bumpSql(schema: string): string {
  return `insert into ${schema}.pollux_ledger as row (service, topic, partition, topic_id, epoch)
    select distinct on (2, 3) $1::text, topic collate "C", partition, topic_id, 1
    from unnest($2::text[], $3::int4[], $4::text[]) as given (topic, partition, topic_id)
    order by 2, 3
    on conflict (service, topic, partition) do update set epoch = row.epoch + 1
    returning topic, partition, epoch`
}

function ledgerSql(schema: string): string {
  return `select given.place, given.topic, given.partition,
      ledger.topic_id, ledger.unit, ledger.next, ledger.settled::text as settled,
      stored.unit as stored_unit, stored.outputs
    from unnest($2::text[], $3::int4[]) with ordinality as given (topic, partition, place)
    join ${schema}.pollux_ledger as ledger
      on ledger.service = $1 and ledger.topic = given.topic and ledger.partition = given.partition
    left join lateral (
      select outbox.unit, outbox.outputs from ${schema}.pollux_outbox as outbox
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
      .map(({ stored_unit, outputs }) => ({
        unit: readInteger(stored_unit),
        records: decodeOutputs(readBytes(outputs)),
      })),
  }
}
