/** A gate of three facts, one of which is kept: on Kafka and PostgreSQL, or with both in its own process. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import pg from 'pg'
import { embeddedBroker, pgliteStore } from '../../src/embedded/index.ts'
import { fact, gate, json, run, text, topic } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgres, postgresTransaction } from '../../src/postgres/index.ts'
import { brokers, partitions } from '../kafka-topics.ts'
import { Meter } from '../meter.ts'
import { server } from '../store/database.ts'
import { readTask, tellResult } from '../turns.ts'
import { factRecords, type GateTask } from './task.ts'

interface Price {
  readonly cents: number
}
/** Trusts its JSON. */
const anyPrice: StandardSchemaV1<Price> = {
  '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value: value as Price }) },
}

const { group, inputs, output, keys, schema, folder } = readTask<GateTask>()
const meter = new Meter()
const all = Promise.withResolvers<void>()
const [words = '', cover = '', price = ''] = inputs
const published = topic(output, { key: text, value: json(anyPrice) })
const when = (): boolean => {
  meter.add(1)
  return true
}
let opened = 0
const service = gate(group, {
  facts: {
    text: fact(topic(words, { key: text, value: text }), { when }),
    cover: fact(topic(cover, { key: text, value: text }), { when }),
    price: fact(topic(price, { key: text, value: json(anyPrice) }), {
      when,
      keep: ({ value }) => value.cents,
    }),
  },
  outputs: [published],
  table: schema === undefined ? 'book_readiness' : `${schema}.book_readiness`,
  db: postgresTransaction,
  timeout: '7d',
  open(key, kept) {
    opened += 1
    if (opened === keys) all.resolve()
    return published.message({ key, value: { cents: kept.price } })
  },
})

const { broker, store, end } = await (folder === undefined ? outside() : inside(folder))
const runtime = await run(service, { broker, store, logger: silent })
await all.promise
// Stopping finishes and commits what is in work: it belongs to the time measured.
await runtime.stop()
tellResult(meter.figures())
await end()

async function outside() {
  const pool = new pg.Pool({ ...server, max: 6 })
  const store = postgres({ pool, schema: schema ?? '' })
  return { broker: kafka({ brokers }), store, end: () => pool.end() }
}

async function inside(at: string) {
  const broker = embeddedBroker({ folder: `${at}/broker` })
  await broker.connect()
  await broker.admin.createTopics([...inputs, output].map((name) => ({ name, partitions })))
  const producer = await broker.producer()
  const records = factRecords(inputs, keys)
  while (records.length > 0) await producer.send(records.splice(-1_000))
  await producer.close()
  return { broker, store: pgliteStore({ folder: `${at}/store` }), end: async () => {} }
}
