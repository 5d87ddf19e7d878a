// A process with a service that gets in the way of its own end. Settings: `trouble` says how; the rest are options of
// `run`. Prints `ready` when the trouble is there.
import { embeddedBroker } from '../../src/embedded/index.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import { defineService, run, text, topic } from '../../src/index.ts'
import { memoryStore } from '../../src/testing/index.ts'
import { watchedBroker } from '../../src/testing/watched-broker.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { faultyStore } from './faulty-store.ts'

const { trouble, ...options } = JSON.parse(process.argv[2] ?? '{}') as { readonly trouble: string }
const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
let isReady = false
const ready = (): void => {
  if (!isReady) console.log('ready')
  isReady = true
}

const handlers: Readonly<Record<string, (signal: AbortSignal) => unknown>> = {
  'waits for its signal': (signal) => {
    ready()
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('told to give up'))),
    )
  },
  'never returns': () => {
    setInterval(() => {}, 1_000)
    ready()
    return new Promise(() => {})
  },
  fails: () => {
    throw new Error('no luck')
  },
  'fails without a promise': () => {
    setImmediate(() => {
      throw new Error('nobody caught this')
    })
    return new Promise(() => {})
  },
  'full buffer': async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    ready()
  },
}

const service = defineService('service', {
  ...stopsAtFailure,
  inputs: [input],
  ...(trouble === 'store' ? { state: text } : {}),
  concurrency: trouble === 'full buffer' ? 1 : 64,
  handle: async (
    _: unknown,
    { signal, state }: { signal: AbortSignal; state?: { put(value: string): Promise<void> } },
  ) => {
    if (state !== undefined) await state.put('x')
    await handlers[trouble]?.(signal)
  },
} as never)

const broker = embeddedBroker()
await broker.admin.createTopics([{ name: 'input', partitions: 1 }])
const producer = await broker.producer()
if (trouble !== 'idle') {
  const count = trouble === 'full buffer' ? 1_000 : 1
  const messages = Array.from({ length: count }, (_, index) =>
    input.message({ key: `${index}`, value: 'x' }),
  )
  await producer.send(messages.map(encodeRecord))
}

const watched = watchedBroker(broker, {
  polled: () => {
    if (trouble === 'idle' || trouble === 'client hangs') ready()
  },
})
if (trouble === 'connecting') {
  watched.connect = () => {
    ready()
    return new Promise(() => {})
  }
}
if (trouble === 'client hangs') watched.close = () => new Promise(() => {})
let asked = 0
const store = faultyStore(memoryStore(), (call) => {
  if (call !== 'commit') return undefined
  asked += 1
  if (asked > 2) ready()
  return 'unreachable'
})

const runtime = await run(service, {
  broker: watched,
  ...(trouble === 'store' ? { store } : {}),
  ...options,
})
await runtime.done
