import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { Runtime } from '../../engine/runtime.ts'
import type { Broker } from '../../ports/broker.ts'
import type { Store, StoreTransaction } from '../../ports/store.ts'
import { type RunOptions, run } from '../../run.ts'
import type { Service } from '../../service.ts'
import { storeOver } from '../store-over.ts'
import { watchedBroker } from '../watched-broker.ts'
import { type CrashNote, crashVariable, noteOf } from './crash-note.ts'
import type { Crash, CrashPoint } from './crash-points.ts'

type Passing = (point: CrashPoint) => void

/**
 * As `run`, in a process that `CrashProcess` has started: it crashes at the point that it was started to crash at. Broker,
 * store and handler are watched from outside; the services run as they are. In any other process it is `run`.
 */
export async function runToCrash(
  services: Service | readonly Service[],
  options: RunOptions,
): Promise<Runtime> {
  const given = process.env[crashVariable]
  if (given === undefined) return await run(services, options)
  // Node keeps what it has compiled at a normal end, which this process may not come to.
  flushCompileCache()
  const { broker, store, ...rest } = options
  const passing = passingTo((JSON.parse(given) as { readonly crash?: Crash }).crash)
  const list = Array.isArray(services) ? (services as readonly Service[]) : [services as Service]
  const runtime = await run(
    list.map((service) => fatalService(service, passing)),
    {
      ...rest,
      broker: fatalBroker(broker, passing),
      ...(store === undefined ? {} : { store: fatalStore(store, passing) }),
    },
  )
  tell({ state: 'started' })
  return runtime
}

function passingTo(crash: Crash | undefined): Passing {
  let left = crash?.count ?? 0
  return (point) => {
    if (point !== crash?.point) return
    left -= 1
    if (left !== 0) return
    tell({ state: 'crashed', point })
    process.kill(process.pid, crash.signal ?? 'SIGKILL')
  }
}

/** Written at once: nothing comes after a crash. */
function tell(note: CrashNote): void {
  writeSync(1, noteOf(note))
}

function fatalService({ handle, handleMany, ...service }: Service, passing: Passing): Service {
  return {
    ...service,
    handle: handle && fatalHandler(handle, passing),
    handleMany: handleMany && fatalHandler(handleMany, passing),
  }
}

type Handler = NonNullable<Service['handle']>

function fatalHandler(handle: Handler, passing: Passing): Handler {
  const handled = (returned: unknown): unknown => {
    passing('handled')
    return returned
  }
  return (given, context) => {
    passing('handling')
    const returned = handle(given, context)
    return returned instanceof Promise ? returned.then(handled) : handled(returned)
  }
}

function fatalBroker(broker: Broker, passing: Passing): Broker {
  let isWorking = false
  return watchedBroker(broker, {
    polled: (count) => {
      if (count === 0) return
      if (!isWorking) tell({ state: 'working' })
      isWorking = true
      passing('polled')
    },
    publishing: () => passing('publishing'),
    sending: () => passing('sending'),
    published: () => passing('published'),
    acknowledged: () => passing('acknowledged'),
    committing: () => passing('committing'),
    committed: () => passing('committed'),
  })
}

function fatalStore(store: Store, passing: Passing): Store {
  const { transactions } = store
  return storeOver(store, {
    async acquire(...given) {
      const rows = await store.acquire(...given)
      passing('acquired')
      return rows
    },
    async load(...given) {
      const loaded = await store.load(...given)
      passing('loaded')
      return loaded
    },
    commit: (unit) => fatalCommit(() => store.commit(unit), passing),
    async acknowledge(...given) {
      passing('acknowledging outputs')
      await store.acknowledge(...given)
    },
    ...(transactions === undefined
      ? {}
      : {
          transactions: {
            capability: transactions.capability,
            begin: async () => fatalTransaction(await transactions.begin(), passing),
          },
        }),
  })
}

function fatalTransaction(transaction: StoreTransaction, passing: Passing): StoreTransaction {
  return {
    get broken() {
      return transaction.broken
    },
    attempt: (body) => transaction.attempt(body),
    commit: (unit) => fatalCommit(() => transaction.commit(unit), passing),
    rollback: () => transaction.rollback(),
  }
}

async function fatalCommit<T>(commit: () => Promise<T>, passing: Passing): Promise<T> {
  passing('storing')
  const result = await commit()
  passing('stored')
  return result
}
