import type { Runtime } from '../../engine/runtime.ts'
import type { Logger } from '../../ports/logger.ts'
import { watchSignalPair } from '../stop-signals.ts'

/** What a supervising process tells a worker. */
export type WorkerOrder = 'stop' | 'hurry'

/**
 * Turns signals and a supervisor's orders into `stop` and `hurry`, from the first moment on: what comes before the
 * runtime is there is kept until it is.
 */
export class StopControl {
  readonly #logger: Logger
  readonly #stop = new AbortController()
  #runtime: Pick<Runtime, 'hurry'> | undefined
  #isHurried = false

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Aborted when a stop was asked for. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Obeys SIGTERM and SIGINT: the first stops, the second hurries. */
  watchSignals(): void {
    watchSignalPair({
      first: (signal) => {
        this.#logger.info({ signal }, 'stopping: what has begun is finished first')
        this.#stop.abort()
      },
      second: (signal) => {
        this.#logger.info({ signal }, 'stopping at once')
        this.#hurry()
      },
    })
  }

  /**
   * Obeys a supervisor. SIGINT is passed over, since a terminal sends it to every process and the supervisor passes
   * it on as an order. SIGTERM stops but does not hurry, for it may come from both, too. A supervisor that is gone
   * stops: nothing would ever restart or stop this worker again.
   */
  watchSupervisor(): void {
    process.on('SIGINT', () => {})
    process.on('SIGTERM', () => this.#stop.abort())
    process.on('message', (order) => {
      if (order === ('stop' satisfies WorkerOrder)) this.#stop.abort()
      if (order === ('hurry' satisfies WorkerOrder)) this.#hurry()
    })
    process.on('disconnect', () => {
      if (!this.signal.aborted)
        this.#logger.warn({}, 'the supervising process is gone; this worker stops')
      this.#stop.abort()
    })
    // The supervisor may have gone before anybody listened.
    if (!process.connected) this.#stop.abort()
  }

  /** The runtime is there: does what was asked for meanwhile. */
  attach(runtime: Pick<Runtime, 'hurry'>): void {
    this.#runtime = runtime
    if (this.#isHurried) runtime.hurry()
  }

  #hurry(): void {
    this.#isHurried = true
    this.#stop.abort()
    this.#runtime?.hurry()
  }
}
