import type { StandardSchemaV1 } from '@standard-schema/spec'
import { defineService, json, run, text, topic } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { Meter } from '../meter.ts'
import { brokers, inputTopic, messages, outputTopic, type Reading, transform } from '../workload.ts'

// The hand-written loop trusts its JSON, so this one does as well.
const reading: StandardSchemaV1<Reading> = {
  '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value: value as Reading }) },
}
const input = topic(inputTopic, { key: text, value: json(reading) })
const output = topic(outputTopic, { key: text, value: json(reading) })
const meter = new Meter()
const all = Promise.withResolvers<void>()

function count(): void {
  meter.add(1)
  if (meter.count === messages) all.resolve()
}

const group = `pollux-bench-${process.pid}`
const service =
  process.argv[2] === 'relay'
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
meter.report()
