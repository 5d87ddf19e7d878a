import { errorText, PolluxError } from '../errors.ts'
import type { Broker, BrokerProducer } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Resource } from '../ports/resource.ts'
import type { Store } from '../ports/store.ts'
import type { RuntimeSettings } from '../runtime-options.ts'
import type { Service } from '../service.ts'
import { newCounts, type ServiceCounts } from './counts.ts'
import { ServiceRun } from './service-run.ts'
import { ensureTopics } from './topics.ts'
import { Waits } from './waits.ts'

/** How a runtime came to its end. */
export interface StopReport {
  /** `drained`: everything started was finished. `aborted`: handlers were told to give up, or left behind. */
  readonly outcome: 'drained' | 'aborted'
  /** Messages whose handlers were started and not finished. They will be delivered again. */
  readonly abandoned: number
}

/** Whether a process does its work. */
export interface Readiness {
  readonly isReady: boolean
  /** Why not: `starting`, `stopping`, or what it waits for, such as a database that cannot be reached. */
  readonly waitingFor: readonly string[]
}

/** Running services. */
export interface Runtime extends AsyncDisposable {
  /**
   * Resolves when everything has stopped. Rejects with what made a partition or service stop (after the others finished
   * their work and committed), or with POLLUX_STOP_TIMEOUT.
   */
  readonly done: Promise<StopReport>
  /** Stops: fetches nothing more, finishes what is in work, commits, leaves, closes. Idempotent; the promise is `done`. */
  stop(): Promise<StopReport>
  /** Not ready while the store is away: the work waits, the group membership stays, and it goes on by itself. */
  readonly readiness: Readiness
  /** What each service has met since the start. */
  readonly counts: readonly Readonly<ServiceCounts>[]
  /** Ends the waiting of `stop`: running handlers are told to give up now. */
  hurry(): void
}

export interface RuntimeParts {
  readonly services: readonly Service[]
  readonly broker: Broker
  readonly store: Store | undefined
  readonly settings: RuntimeSettings
  readonly clock: Clock
  readonly logger: Logger
}

/** Starts services, and stops them in the one order that loses nothing. */
export class ServicesRuntime implements Runtime {
  readonly #parts: RuntimeParts
  readonly #done = Promise.withResolvers<StopReport>()
  #runs: ServiceRun[] = []
  readonly #opened: Resource[] = []
  #producer: BrokerProducer | undefined
  #failure: { readonly error: unknown } | undefined
  #stopping: Promise<void> | undefined
  #stage = 'starting'
  #isHurried = false
  #isRunning = false
  readonly #waits = new Waits()
  readonly #counts = new Map<Service, ServiceCounts>()
  readonly #stopAsked = Promise.withResolvers<void>()

  constructor(parts: RuntimeParts) {
    this.#parts = parts
  }

  get done(): Promise<StopReport> {
    return this.#done.promise
  }

  get readiness(): Readiness {
    const stage = this.#stopping === undefined ? [] : ['stopping']
    const waitingFor = [...(this.#isRunning ? [] : ['starting']), ...stage, ...this.#waits.all]
    return { isReady: waitingFor.length === 0, waitingFor }
  }

  get counts(): readonly Readonly<ServiceCounts>[] {
    return this.#parts.services.map((service) => structuredClone(this.#countsOf(service)))
  }

  #countsOf(service: Service): ServiceCounts {
    const counts = this.#counts.get(service) ?? newCounts(service.name)
    this.#counts.set(service, counts)
    return counts
  }

  /**
   * Connects, makes the store and the topics ready, and joins the groups. When `stop` is called meanwhile, it ends
   * without having started. Rejects, with everything closed again, with what is wrong.
   */
  async start(): Promise<void> {
    try {
      await Promise.race([this.#start(), this.#stopAsked.promise])
    } catch (error) {
      this.#failure = { error }
      // `done` tells the same error; who awaits `start` need not listen to both.
      this.done.catch(() => {})
      await this.stop().catch(() => {})
      throw error
    }
  }

  async #start(): Promise<void> {
    const { services, broker, store, settings, clock, logger } = this.#parts
    await this.#unlessStopped(() => broker.connect())
    await this.#unlessStopped(async () => store?.open())
    for (const resource of new Set(services.flatMap(({ opens }) => opens)))
      await this.#unlessStopped(async () => {
        await resource.open()
        if (this.#stopping === undefined) this.#opened.push(resource)
        else await resource.close()
      })
    await this.#unlessStopped(() => ensureTopics(broker.admin, services, settings.createTopics))
    await this.#unlessStopped(async () => {
      this.#producer = await broker.producer()
    })
    for (const service of services) {
      await this.#unlessStopped(async () => {
        if (this.#producer === undefined) return
        const run = new ServiceRun({
          service,
          broker,
          producer: this.#producer,
          store: service.needsStore ? store : undefined,
          waits: this.#waits,
          counts: this.#countsOf(service),
          settings,
          clock,
          logger,
          failed: (error) => this.#fail(error),
        })
        this.#runs.push(run)
        await run.start()
      })
    }
    if (this.#stopping !== undefined) return
    this.#isRunning = true
    logger.info(
      { services: services.map(({ name }) => name), broker: broker.name, store: store?.name },
      'running',
    )
  }

  async #unlessStopped(step: () => Promise<void>): Promise<void> {
    if (this.#stopping === undefined) await step()
  }

  stop(): Promise<StopReport> {
    this.#stopping ??= this.#stopAll()
    return this.done
  }

  hurry(): void {
    this.#isHurried = true
    for (const run of this.#runs) run.hurry()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** One partition or service has stopped: the others finish what they have, and then all is over. */
  #fail(error: unknown): void {
    this.#failure ??= { error }
    void this.stop().catch(() => {})
  }

  async #stopAll(): Promise<void> {
    const { settings, clock, logger } = this.#parts
    const cancel = clock.after(settings.stopTimeout, () => this.#giveUp())
    this.#stopAsked.resolve()
    const howFar = this.#failure === undefined ? 'running' : 'fetched'
    logger.info({ because: this.#failure === undefined ? 'asked' : 'failure' }, 'stopping')
    await this.#stages(howFar)
    cancel()
    const abandoned = this.#runs.reduce((sum, run) => sum + run.abandoned, 0)
    logger.info({ abandoned }, 'stopped')
    if (this.#failure !== undefined) this.#done.reject(this.#failure.error)
    else this.#done.resolve({ outcome: abandoned > 0 ? 'aborted' : 'drained', abandoned })
  }

  async #stages(howFar: 'running' | 'fetched'): Promise<void> {
    const { broker, store } = this.#parts
    const runs = this.#runs
    if (this.#isHurried) for (const run of runs) run.hurry()
    for (const run of runs) run.stopFetching()
    await this.#runStage('finishing what is in work', () =>
      Promise.all(runs.map((run) => run.drain(howFar))),
    )
    await this.#runStage('leaving the groups', () => Promise.all(runs.map((run) => run.leave())))
    await this.#runStage('closing the producer', async () => this.#producer?.close())
    for (const resource of this.#opened)
      await this.#runStage(`closing ${resource.name}`, () => resource.close())
    await this.#runStage('closing the store', async () => store?.close())
    await this.#runStage('closing the broker connection', () => broker.close())
  }

  /** One that fails does not keep the next from its turn. */
  async #runStage(name: string, action: () => Promise<unknown>): Promise<void> {
    this.#stage = name
    try {
      await action()
    } catch (error) {
      this.#parts.logger.error({ error: errorText(error) }, `${name} failed`)
    }
  }

  #giveUp(): void {
    const { settings, logger } = this.#parts
    const error = new PolluxError(
      'POLLUX_STOP_TIMEOUT',
      `Stopping did not end within ${settings.stopTimeout} ms.`,
      {
        found: `it hangs at: ${this.#stage}`,
        hint: 'What was not committed is delivered again.',
      },
    )
    logger.error({ code: error.code, stage: this.#stage }, error.message)
    this.#done.reject(error)
  }
}
