/**
 * What most teams write first: a transaction for each message. The mark comes first and says whether the event was
 * applied before; offsets are committed by the batch.
 */
import { joinGroup } from '../by-hand-consumer.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import { type Reading, transform } from '../workload.ts'
import { eventId, openTables } from './by-hand-tables.ts'
import { StatementWatch } from './statement-watch.ts'
import type { StoreTask } from './task.ts'

const { group, input, messages, schema } = readTask<StoreTask>()
const statements = new StatementWatch()
const meter = new Meter(() => statements.start())
const database = await openTables(schema)
const consumer = await joinGroup(group, input)

while (meter.count < messages) {
  const batch = await consumer.take(Math.min(500, messages - meter.count))
  if (batch.length === 0) continue
  meter.add(batch.length)
  for (const { key, value, headers } of batch) {
    const reading = JSON.parse(String(value)) as Reading
    await apply(eventId(headers), key as Buffer, Buffer.from(JSON.stringify(transform(reading))))
  }
  await consumer.commit(batch)
}
tellResult({ ...meter.figures(), ...statements.figures() })
await consumer.close()
await database.end()
process.exit(0)

async function apply(id: string, key: Buffer, value: Buffer): Promise<void> {
  await database.query('begin')
  const { rowCount } = await database.query({
    name: 'mark',
    text: 'insert into mark (id) values ($1) on conflict do nothing',
    values: [id],
  })
  if (rowCount === 1) {
    await database.query({
      name: 'put',
      text: `insert into price (key, value) values ($1, $2)
        on conflict (key) do update set value = excluded.value`,
      values: [key, value],
    })
  }
  await database.query('commit')
}
