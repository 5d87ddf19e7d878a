/** A sidecar: its table is checked, batches are written in transactions, and a row at fault is found. */

import pg from 'pg'
import { json, run, sidecar, text, topic } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { mysqlTable } from '../../src/mysql/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgresTable } from '../../src/postgres/index.ts'
import { brokers } from '../kafka-topics.ts'
import { Meter } from '../meter.ts'
import { server } from '../store/database.ts'
import { readTask, tellResult } from '../turns.ts'
import { anyReading } from '../workload.ts'
import { mysqlAddress } from './places.ts'
import { batch, type SidecarTask } from './task.ts'

const { database, group, input, messages, schema } = readTask<SidecarTask>()
const meter = new Meter()
const all = Promise.withResolvers<void>()
const pool = new pg.Pool({ ...server, max: 3 })
const service = sidecar(group, {
  input: topic(input, { key: text, value: json(anyReading) }),
  target:
    database === 'postgres'
      ? postgresTable({ pool, table: `${schema}.price` })
      : mysqlTable({ connectionString: mysqlAddress(schema), table: 'price' }),
  key: {
    symbol: ({ key }) => {
      meter.add(1)
      if (meter.count === messages) all.resolve()
      return key
    },
  },
  columns: { price: 'price', volume: 'volume', note: 'note' },
  batch,
})

const runtime = await run(service, { broker: kafka({ brokers }), logger: silent })
await all.promise
// Stopping finishes and commits what is in work: it belongs to the time measured.
await runtime.stop()
tellResult(meter.figures())
await pool.end()
