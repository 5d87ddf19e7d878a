/**
 * The loop that a careful team writes when speed matters: the last message of each key of a batch, as one statement, while the
 * next batch is fetched and parsed and the offsets of the one before are committed. It leaves out failures, poison messages,
 * rebalances, and shutdown.
 */
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { joinGroup } from '../by-hand-consumer.ts'
import { Meter } from '../meter.ts'
import { arrayParameter } from '../store/array-parameter.ts'
import { server } from '../store/database.ts'
import { readTask, tellResult } from '../turns.ts'
import type { Reading } from '../workload.ts'
import { mysqlAddress } from './places.ts'
import { batch as batchSize, type SidecarTask } from './task.ts'

const { database, group, input, messages, schema } = readTask<SidecarTask>()
const meter = new Meter()
const { write, end } = await (database === 'postgres' ? toPostgres() : toMysql())
const consumer = await joinGroup(group, input)

let next = prepare()
let committing = Promise.resolve()
while (meter.count < messages) {
  const { taken, rows } = await next
  next = prepare()
  if (taken.length === 0) continue
  await write(rows)
  await committing
  committing = consumer.commit(taken)
  meter.add(taken.length)
}
await committing
tellResult(meter.figures())
await next
await consumer.close()
await end()
process.exit(0)

async function prepare() {
  const taken = await consumer.take(batchSize)
  if (taken.length > 0) meter.add(0)
  const rows = new Map<string, Reading>()
  for (const { key, value } of taken) rows.set(String(key), JSON.parse(String(value)) as Reading)
  return { taken, rows }
}

type Write = (rows: ReadonlyMap<string, Reading>) => Promise<void>

async function toPostgres(): Promise<{ write: Write; end: () => Promise<void> }> {
  const client = new pg.Client(server)
  await client.connect()
  const texts = (all: readonly unknown[]): Buffer =>
    arrayParameter(
      'text',
      all.map((one) => Buffer.from(String(one))),
    )
  const write: Write = async (rows) => {
    const all = [...rows.values()]
    await client.query({
      name: 'write',
      text: `insert into ${schema}.price (symbol, price, volume, note)
        select symbol, price::numeric, volume::int8, note
          from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given (symbol, price, volume, note)
        on conflict (symbol) do update
          set price = excluded.price, volume = excluded.volume, note = excluded.note`,
      values: [
        texts([...rows.keys()]),
        texts(all.map(({ price }) => price)),
        texts(all.map(({ volume }) => volume)),
        texts(all.map(({ note }) => note)),
      ],
    })
  }
  return { write, end: () => client.end() }
}

async function toMysql(): Promise<{ write: Write; end: () => Promise<void> }> {
  const connection = await createConnection(mysqlAddress(schema))
  const write: Write = async (rows) => {
    const all = [...rows].map(([symbol, { price, volume, note }]) => [symbol, price, volume, note])
    await connection.query(
      `insert into price (symbol, price, volume, note) values ?
        on duplicate key update price = values(price), volume = values(volume), note = values(note)`,
      [all],
    )
  }
  return { write, end: () => connection.end() }
}
