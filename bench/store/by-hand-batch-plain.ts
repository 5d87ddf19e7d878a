/**
 * The loop that a careful team writes when speed matters: a batch is one statement with array parameters, so one transaction
 * and one round trip. While the database works, the next batch is fetched and computed, and the offsets of the one before
 * are committed. It leaves out what is not needed here: rebalances, failures, poison messages, shutdown.
 */
import { joinGroup } from '../by-hand-consumer.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import { type Reading, transform } from '../workload.ts'
import { eventId, openTables } from './by-hand-tables.ts'
import { StatementWatch } from './statement-watch.ts'
import type { StoreTask } from './task.ts'

const { group, input, messages, schema } = readTask<StoreTask>()
const batchSize = Number(process.env.BATCH ?? 1_000)
const statements = new StatementWatch()
const meter = new Meter(() => statements.start())
const database = await openTables(schema)
const consumer = await joinGroup(group, input)

interface Batch {
  readonly messages: Awaited<ReturnType<typeof consumer.take>>
  readonly changes: readonly Change[]
}

interface Change {
  readonly id: string
  readonly key: string
  readonly value: Buffer
}

while (meter.count < messages) {
  const batch = await prepare()
  if (batch.messages.length === 0) continue
  await apply(batch.changes)
  await consumer.commit(batch.messages)
  meter.add(batch.messages.length)
}
tellResult({ ...meter.figures(), ...statements.figures() })
await consumer.close()
await database.end()
process.exit(0)
async function prepare(): Promise<Batch> {
  const batch = await consumer.take(batchSize)
  if (batch.length > 0) meter.add(0)
  const changes = batch.map(({ key, value, headers }) => {
    const reading = JSON.parse(String(value)) as Reading
    const changed = Buffer.from(JSON.stringify(transform(reading)))
    return { id: eventId(headers), key: (key as Buffer).toString('latin1'), value: changed }
  })
  return { messages: batch, changes }
}


/** Applies what was not applied before; of one key the last change. */
async function apply(changes: readonly Change[]): Promise<void> {
  await database.query('begin')
  const { rows } = await database.query<{ id: string }>({
    name: 'remember',
    text: 'insert into mark (id) select unnest($1::text[]) on conflict do nothing returning id',
    values: [changes.map(({ id }) => id)],
  })
  const fresh = new Set(rows.map(({ id }) => id))
  const latest = new Map(changes.filter(({ id }) => fresh.has(id)).map(({ key, value }) => [key, value]))
  await database.query({
    name: 'upsert',
    text: `insert into price (key, value) select * from unnest($1::bytea[], $2::bytea[])
        on conflict (key) do update set value = excluded.value`,
    values: [[...latest.keys()].map((key) => Buffer.from(key, 'latin1')), [...latest.values()]],
  })
  await database.query('commit')
}
