import { defineService, json, run, text, topic } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { brokers } from '../kafka-topics.ts'
import { Meter } from '../meter.ts'
import { readTask, tellResult } from '../turns.ts'
import { anyReading, transform } from '../workload.ts'
import type { LoopTask } from './task.ts'

const { workload, group, messages, ...topics } = readTask<LoopTask>()
const input = topic(topics.input, { key: text, value: json(anyReading) })
const output = topic(topics.output, { key: text, value: json(anyReading) })
const meter = new Meter()
const all = Promise.withResolvers<void>()

function count(): void {
  meter.add(1)
  if (meter.count === messages) all.resolve()
}

const service =
  workload === 'relay'
    ? defineService(group, {
        inputs: [input],
        outputs: [output],
        async handle({ key, value }) {
          count()
          return output.message({ key, value: transform(value) })
        },
      })
    : defineService(group, { inputs: [input], handle: async () => count() })

const runtime = await run(service, { broker: kafka({ brokers }), logger: silent })
await all.promise
// Stopping finishes and commits what is in work: it belongs to the time measured.
await runtime.stop()
tellResult(meter.figures())
