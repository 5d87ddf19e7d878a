/**
 * The fastest loop that we could write: a batch is one statement, so one transaction and one round trip, with arrays in binary
 * format. While the database works, the next batch is fetched and computed, and the offsets of the one before are
 * committed. It leaves out the same as `by-hand-batch.ts`.
 */
import { joinGroup } from '../by-hand-consumer.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import { arrayParameter } from './array-parameter.ts'
import { type Batch, type Change, nextBatch } from './by-hand-changes.ts'
import { openTables } from './by-hand-tables.ts'
import { StatementWatch } from './statement-watch.ts'
import type { StoreTask } from './task.ts'

const { group, input, messages, schema } = readTask<StoreTask>()
const batchSize = Number(process.env.BATCH ?? 1_000)
const statements = new StatementWatch()
const meter = new Meter(() => statements.start())
const database = await openTables(schema)
const consumer = await joinGroup(group, input)

let next = prepare()
let committing = Promise.resolve()
while (meter.count < messages) {
  const batch = await next
  next = prepare()
  if (batch.messages.length === 0) continue
  await apply(batch.changes)
  await committing
  committing = consumer.commit(batch.messages)
  meter.add(batch.messages.length)
}
await committing
tellResult({ ...meter.figures(), ...statements.figures() })
await next
await consumer.close()
await database.end()
process.exit(0)

async function prepare(): Promise<Batch> {
  const batch = await nextBatch(consumer, batchSize)
  if (batch.messages.length > 0) meter.add(0)
  return batch
}

/**
 * Applies what was not applied before; of one key the last change. As two statements, marks first, it is slower by a third:
 * the database would wait for us between them, as we are busy with the next batch.
 */
async function apply(changes: readonly Change[]): Promise<void> {
  await database.query({
    name: 'apply',
    text: `with given as (
        select * from unnest($1::text[], $2::bytea[], $3::bytea[])
          with ordinality as given (id, key, value, place)
      ), fresh as (
        insert into mark (id) select id from given on conflict do nothing returning id
      )
      insert into price (key, value)
        select distinct on (key) key, value from given join fresh using (id) order by key, place desc
        on conflict (key) do update set value = excluded.value`,
    values: [
      arrayParameter(
        'text',
        changes.map(({ id }) => Buffer.from(id)),
      ),
      arrayParameter(
        'bytea',
        changes.map(({ key }) => key),
      ),
      arrayParameter(
        'bytea',
        changes.map(({ value }) => value),
      ),
    ],
  })
}
