/** A handler for one message, run by Pollux: marks, state and outputs of many messages share a transaction. */
import pg from 'pg'
import { run } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgres } from '../../src/postgres/index.ts'
import { eventService } from '../event-service.ts'
import { brokers } from '../kafka-topics.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import { server } from './database.ts'
import { StatementWatch } from './statement-watch.ts'
import type { StoreTask } from './task.ts'

const { group, input, output, messages, schema, publish } = readTask<StoreTask>()
const statements = new StatementWatch()
const meter = new Meter(() => statements.start())
const all = Promise.withResolvers<void>()
const service = eventService(group, { input, output }, publish, () => {
  meter.add(1)
  if (meter.count === messages) all.resolve()
})
// A pool of ours is not ended by the store, so that its server processes can be looked at afterwards.
const pool = new pg.Pool({ ...server, max: 6, idleTimeoutMillis: 0 })
const store = postgres({ pool, schema })

const runtime = await run(service, { broker: kafka({ brokers }), store, logger: silent })
await all.promise
// Stopping finishes and commits what is in work: it belongs to the time measured.
await runtime.stop()
tellResult({ ...meter.figures(), ...statements.figures() })
await pool.end()
