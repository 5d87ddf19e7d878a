// A process with a service that copies a topic, made to die. Settings: see `CopySettings`. Prints `running` once it
// has its first message, `started` once it obeys signals, and dies by SIGKILL at the moment that `death` names.
import { embeddedBroker, pgliteStore } from '../../src/embedded/index.ts'
import { defineService, run, text, topic } from '../../src/index.ts'
import { kafka } from '../../src/kafka/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import type { Store } from '../../src/ports/store.ts'
import { watchedBroker } from '../cases/watched-broker.ts'

/** Where a process dies: at the n-th time that it gets there. */
export interface Death {
  readonly point: (typeof deathPoints)[number]
  readonly count: number
}

export const deathPoints = [
  'handling',
  'handled',
  'sending',
  'sent',
  'storing',
  'stored',
  'committing',
  'committed',
] as const

export interface CopySettings {
  readonly broker:
    | { readonly folder: string }
    | { readonly kafka: readonly string[]; readonly instanceId: string }
  /** A PGlite folder: then the service counts each key's messages in its state. */
  readonly store?: string
  readonly input: string
  readonly output: string
  readonly group: string
  readonly death?: Death | undefined
}

if (process.argv[1] === import.meta.filename)
  await main(JSON.parse(process.argv[2] ?? '{}') as CopySettings)

async function main(settings: CopySettings): Promise<void> {
  let left = settings.death?.count ?? 0
  const at = (point: Death['point']): void => {
    if (settings.death?.point !== point) return
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
  }
  const broker = watchedBroker(openBroker(settings), {
    polled: (count) => {
      if (count > 0) console.log('running')
    },
    sending: () => at('sending'),
    sent: () => at('sent'),
    committing: () => at('committing'),
    committed: () => at('committed'),
  })
  const store =
    settings.store === undefined
      ? undefined
      : dyingStore(pgliteStore({ folder: settings.store }), at)
  const runtime = await run(copying(settings, at), {
    broker,
    ...(store === undefined ? {} : { store }),
    commitInterval: 20,
    bufferMessages: 200,
  })
  console.log('started')
  await runtime.done
}

function openBroker({ broker }: CopySettings): Broker {
  if ('folder' in broker) return embeddedBroker({ folder: broker.folder })
  return kafka({ brokers: broker.kafka, instanceId: broker.instanceId, sessionTimeout: '6s' })
}

function dyingStore(store: Store, at: (point: Death['point']) => void): Store {
  return {
    name: store.name,
    open: () => store.open(),
    acquire: (...given) => store.acquire(...given),
    load: (...given) => store.load(...given),
    close: () => store.close(),
    async commit(unit) {
      at('storing')
      const result = await store.commit(unit)
      at('stored')
      return result
    },
  }
}

function copying(
  { group, input, output, store }: CopySettings,
  at: (point: Death['point']) => void,
) {
  const from = topic(input, { key: text, value: text })
  const to = topic(output, { key: text, value: text })
  const copy = async (key: string, value: string) => {
    at('handling')
    // Some take longer than others, so that they finish in another order than they began.
    const wait = Number(value) % 7
    if (wait > 2) await new Promise((resolve) => setTimeout(resolve, wait))
    at('handled')
    return to.message({ key, value })
  }
  const definition = { inputs: [from], outputs: [to], concurrency: 32 } as const
  if (store === undefined)
    return defineService(group, { ...definition, handle: ({ key, value }) => copy(key, value) })
  return defineService(group, {
    ...definition,
    state: text,
    async handle({ key, value }, { state }) {
      const count = Number((await state.get()) ?? 0)
      await state.put(`${count + 1}`)
      return await copy(key, value)
    },
  })
}
