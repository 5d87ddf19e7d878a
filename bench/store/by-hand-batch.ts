/**
 * The loop that most careful teams write: fetch a batch, apply it in one transaction with array parameters, commit its
 * offsets. It leaves out rebalances, failures, poison messages and shutdown.
 */
import { joinGroup } from '../by-hand-consumer.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import { type Change, nextBatch } from './by-hand-changes.ts'
import { openTables } from './by-hand-tables.ts'
import { StatementWatch } from './statement-watch.ts'
import type { StoreTask } from './task.ts'

const { group, input, messages, schema } = readTask<StoreTask>()
const batchSize = Number(process.env.BATCH ?? 1_000)
const statements = new StatementWatch()
const meter = new Meter(() => statements.start())
const database = await openTables(schema)
const consumer = await joinGroup(group, input)

while (meter.count < messages) {
  const batch = await nextBatch(consumer, batchSize)
  if (batch.messages.length === 0) continue
  meter.add(0)
  await apply(batch.changes)
  await consumer.commit(batch.messages)
  meter.add(batch.messages.length)
}
tellResult({ ...meter.figures(), ...statements.figures() })
await consumer.close()
await database.end()
process.exit(0)

/** Applies what was not applied before; of one key the last change. */
async function apply(changes: readonly Change[]): Promise<void> {
  await database.query('begin')
  const { rows } = await database.query<{ id: string }>({
    name: 'remember',
    text: 'insert into mark (id) select unnest($1::text[]) on conflict do nothing returning id',
    values: [changes.map(({ id }) => id)],
  })
  const fresh = new Set(rows.map(({ id }) => id))
  const latest = new Map<string, Change>()
  for (const change of changes) if (fresh.has(change.id)) latest.set(String(change.key), change)
  const rest = [...latest.values()]
  await database.query({
    name: 'upsert',
    text: `insert into price (key, value) select * from unnest($1::bytea[], $2::bytea[])
        on conflict (key) do update set value = excluded.value`,
    values: [rest.map(({ key }) => key), rest.map(({ value }) => value)],
  })
  await database.query('commit')
}
