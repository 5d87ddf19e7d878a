/** The service between producer and reader, until it is told to stop. */
import { run } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgres } from '../../src/postgres/index.ts'
import { eventService } from '../event-service.ts'
import { brokers } from '../kafka-topics.ts'
import { connectionString } from '../store/database.ts'
import { readTask, tellResult } from '../turns.ts'
import type { ServiceTask } from './task.ts'

const { group, input, output, schema } = readTask<ServiceTask>()
const store = postgres({ connectionString, schema })
const runtime = await run(
  eventService(group, { input, output }, 'outbox', () => {}),
  { broker: kafka({ brokers }), store, logger: silent },
)
await runtime.done
tellResult({})
