/** A service with broker and database in its own process, as `pollux run` starts it when nothing is configured. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { embeddedBroker, pgliteStore } from '../../src/embedded/index.ts'
import { run } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventService } from '../event-service.ts'
import { eventRecord } from '../events.ts'
import { partitions } from '../kafka-topics.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import type { PgliteFigures, PgliteTask } from './task.ts'

const { folder, hasOutputs, messages } = readTask<PgliteTask>()
const topics = { input: 'in', output: 'out' }
const delay = monitorEventLoopDelay({ resolution: 1 })
const meter = new Meter(() => delay.enable())
const all = Promise.withResolvers<void>()
const service = eventService('bench', topics, hasOutputs ? 'outbox' : undefined, () => {
  meter.add(1)
  if (meter.count === messages) all.resolve()
})
const broker = embeddedBroker(folder === undefined ? {} : { folder: `${folder}/broker` })
const store = pgliteStore(folder === undefined ? {} : { folder: `${folder}/store` })

await fill()
const runtime = await run(service, { broker, store, logger: silent })
await all.promise
// Stopping finishes and commits what is in work: it belongs to the time measured.
await runtime.stop()
delay.disable()
const figures: PgliteFigures = {
  ...meter.figures(),
  delayP99: delay.percentile(99) / 1e6,
  delayMax: delay.max / 1e6,
}
tellResult(figures)

async function fill(): Promise<void> {
  await broker.connect()
  await broker.admin.createTopics([
    { name: topics.input, partitions },
    { name: topics.output, partitions },
  ])
  const producer = await broker.producer()
  const slice = 1_000
  for (let from = 0; from < messages; from += slice) {
    const length = Math.min(slice, messages - from)
    await producer.send(
      Array.from({ length }, (_, index) => eventRecord(topics.input, from + index)),
    )
  }
  await producer.close()
}
