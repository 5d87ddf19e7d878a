// A process that meets a backlog of large messages with a slow handler, and says every second how much memory it
// takes. Settings: `folder` or `kafka`, `group`, `topic`.
import { embeddedBroker } from '../../src/embedded/index.ts'
import { bytes, defineService, run, topic } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import { watchedBroker } from '../../src/testing/watched-broker.ts'

export interface BacklogSettings {
  readonly folder?: string
  readonly kafka?: readonly string[]
  readonly group: string
  readonly topic: string
}

const settings = JSON.parse(process.argv[2] ?? '{}') as BacklogSettings
const say = (line: object): void => console.log(JSON.stringify(line))

let fetched = 0
let handled = 0
let assignments = 0
const backlog = topic(settings.topic, { value: bytes })
const service = defineService(settings.group, {
  inputs: [backlog],
  concurrency: 16,
  async handle() {
    await new Promise((resolve) => setTimeout(resolve, 200))
    handled += 1
  },
})

const inner =
  settings.folder === undefined
    ? kafka({ brokers: settings.kafka ?? [], sessionTimeout: '6s', pollLimit: '10s' })
    : embeddedBroker({ folder: settings.folder })
const broker = watchedBroker(inner, {
  polled: (count) => {
    fetched += count
  },
  assigned: () => {
    assignments += 1
  },
})
const runtime = await run(service, { broker })
const timer = setInterval(() => {
  const { rss, heapUsed } = process.memoryUsage()
  say({ rss, heapUsed, waiting: fetched - handled, handled, assignments })
}, 500)
runtime.done.finally(() => clearInterval(timer)).catch(() => {})
await runtime.done
