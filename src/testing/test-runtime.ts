import { setTimeout as sleep } from 'node:timers/promises'
import { milliseconds } from '../duration.ts'
import { embeddedBroker } from '../embedded/embedded-broker.ts'
import type { Runtime, StopReport } from '../engine/runtime.ts'
import { PolluxError } from '../errors.ts'
import type { Broker } from '../ports/broker.ts'
import { silent } from '../ports/logger.ts'
import type { Store } from '../ports/store.ts'
import { type RunOptions, run } from '../run.ts'
import type { Service } from '../service.ts'
import type { AnyTopic, MessageOf, OutputMessage } from '../topic.ts'
import { eventually } from './eventually.ts'
import { areSettled, messagesOf, sendTo } from './logs.ts'
import { ManualClock } from './manual-clock.ts'
import { MemoryStoreData, memoryStore } from './memory-store.ts'

// How long, by the machine's time, the end of a test waits for handlers.
const patience = 1_000

/** Options of `testRuntime`: those of `run`, all with defaults fit for a test. */
export interface TestRuntimeOptions extends Partial<RunOptions> {
  readonly clock?: ManualClock
}

/** Services running in memory, under a clock that a test moves. */
export interface TestRuntime extends AsyncDisposable {
  readonly clock: ManualClock
  readonly broker: Broker
  readonly store: Store
  /** Writes messages, in order. Resolves when they are acknowledged. */
  send(...messages: readonly OutputMessage[]): Promise<void>
  /**
   * Resolves when all messages, outputs of services included, are handled and committed. Rejects with what stopped a
   * partition or service; after ten seconds, too.
   */
  settled(): Promise<void>
  /** All messages of a topic, by partition and offset. */
  messages<T extends AnyTopic>(topic: T): Promise<MessageOf<T>[]>
  /** The state that a service keeps for a key (as the key's codec takes it). */
  state(service: Service, key: string | Buffer): Promise<unknown>
  /** What the services have met; see `Runtime.counts`. */
  readonly counts: Runtime['counts']
  /** Whether they do their work; see `Runtime.readiness`. */
  readonly readiness: Runtime['readiness']
  /** Drains and closes. At the end of `await using`, a failure that nobody was told of is thrown. */
  stop(): Promise<StopReport>
}

/**
 * Runs services in memory: no broker, no database, no timers. In-memory state is for tests only; `run` and
 * `pollux run` want a real store.
 */
export async function testRuntime(
  services: Service | readonly Service[],
  options: TestRuntimeOptions = {},
): Promise<TestRuntime> {
  const clock = options.clock ?? new ManualClock()
  const broker = options.broker ?? embeddedBroker({ clock })
  const store = options.store ?? memoryStore(new MemoryStoreData(), clock)
  const runtime = await run(services, {
    logger: silent,
    signals: false,
    createTopics: true,
    commitInterval: 0,
    ...options,
    broker,
    store,
    clock,
  })
  // A failure is told by `settled` and `stop`; a test that calls neither shall not be torn down by it.
  runtime.done.catch(() => {})
  return new InMemoryRuntime(
    Array.isArray(services) ? services : [services],
    runtime,
    broker,
    store,
    clock,
  )
}

class InMemoryRuntime implements TestRuntime {
  readonly clock: ManualClock
  readonly broker: Broker
  readonly store: Store
  readonly #services: readonly Service[]
  readonly #runtime: Runtime
  /** A failure that the test was told of. */
  #told: unknown

  constructor(
    services: readonly Service[],
    runtime: Runtime,
    broker: Broker,
    store: Store,
    clock: ManualClock,
  ) {
    this.#services = services
    this.#runtime = runtime
    this.broker = broker
    this.store = store
    this.clock = clock
  }

  send(...messages: readonly OutputMessage[]): Promise<void> {
    return sendTo(this.broker, ...messages)
  }

  async settled(): Promise<void> {
    let isOver = false
    const failed = this.#runtime.done.then(() => {
      throw new PolluxError('POLLUX_BROKER_CLOSED', 'The runtime has stopped.')
    })
    const settled = eventually(
      'all messages are handled and committed',
      async () => isOver || (await areSettled(this.broker, this.#services)),
      { deadline: 10_000, every: 1 },
    )
    try {
      await this.#telling(Promise.race([settled, failed]))
    } finally {
      // Otherwise it would go on looking, and hold the process, until its deadline.
      isOver = true
    }
  }

  async #telling<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise
    } catch (error) {
      this.#told = error
      throw error
    }
  }

  messages<T extends AnyTopic>(topic: T): Promise<MessageOf<T>[]> {
    return messagesOf(this.broker, topic)
  }

  async state({ name, state }: Service, key: string | Buffer): Promise<unknown> {
    const { states } = await this.store.load(name, [Buffer.from(key)], [])
    const value = states[0]?.value ?? null
    return value === null ? undefined : state?.decode(value)
  }

  get counts(): Runtime['counts'] {
    return this.#runtime.counts
  }

  get readiness(): Runtime['readiness'] {
    return this.#runtime.readiness
  }

  stop(): Promise<StopReport> {
    return this.#telling(this.#runtime.stop())
  }

  /** A handler that never returns must not hold the test: time, which nobody moves any more, is moved for it. */
  async [Symbol.asyncDispose](): Promise<void> {
    const known = this.#told
    const stopped = this.#runtime.stop().catch((error: unknown) => {
      // A test that forgot to await `settled` would pass although a handler threw.
      if (error !== known) throw error
    })
    stopped.catch(() => {})
    await Promise.race([stopped, sleep(patience, undefined, { ref: false })])
    await this.clock.advance(milliseconds('1d'))
    await stopped
  }
}
