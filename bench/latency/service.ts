/** The service between producer and reader, until it is told to stop. */
import pg from 'pg'
import { run } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgres } from '../../src/postgres/index.ts'
import { eventService } from '../event-service.ts'
import { brokers } from '../kafka-topics.ts'
import { server } from '../store/database.ts'
import { readTask, tellResult } from '../turns.ts'
import type { ServiceTask } from './task.ts'

const { group, input, output, schema } = readTask<ServiceTask>()
const pool = new pg.Pool({ ...server, max: 6 })
const store = postgres({ pool, schema })
const runtime = await run(
  eventService(group, { input, output }, 'outbox', () => {}),
  { broker: kafka({ brokers }), store, logger: silent },
)
await runtime.done
await pool.end()
tellResult({})
