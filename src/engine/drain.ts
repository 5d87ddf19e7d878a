import { pause } from '../pause.ts'
import type { Clock } from '../ports/clock.ts'
import type { Partition } from './partition.ts'

// How long aborted handlers get to notice it, before they are left behind.
const abortGrace = 1_000

/** Finishes what is in work, within its time limit, and knows what a stop has cut off. */
export class Drain {
  readonly #timeout: number
  readonly #clock: Clock
  readonly #stopping = new AbortController()
  readonly #hurrying = new AbortController()
  /** Messages that were started and whose work a stop cut off: they will be delivered again. */
  abandoned = 0

  /** @param timeout milliseconds that handlers are waited for */
  constructor(timeout: number, clock: Clock) {
    this.#timeout = timeout
    this.#clock = clock
  }

  /** Aborted once a stop was asked for: what is in work is finished, but nobody waits for a store that is away. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  stop(): void {
    this.#stopping.abort()
  }

  /** Ends all waiting: handlers are told to give up now. */
  hurry(): void {
    this.stop()
    this.#hurrying.abort()
  }

  /** Waits until nothing of these partitions is in work; in the end their handlers are told to give up. */
  async finish(partitions: readonly Partition[]): Promise<void> {
    // Leaving the group gives up once more what stopping has drained: that has had its time.
    const running = partitions.filter(({ signal }) => !signal.aborted)
    if (running.length === 0) return
    const idle = Promise.all(running.map((partition) => partition.whenIdle()))
    await this.#within(this.#timeout, idle, this.#hurrying.signal)
    for (const partition of running) {
      partition.close()
      partition.abort()
    }
    // What has just been told to give up needs a moment; nobody hurries that.
    await this.#within(abortGrace, idle)
    for (const partition of running) {
      this.abandon(partition, partition.inFlight)
      partition.isLeftBehind = true
    }
  }

  /** Counts what a stop cuts off, once. What a rebalance cuts off is no news at the end. */
  abandon({ isLeftBehind, hasEnded }: Partition, messages: number): void {
    if (this.stopping.aborted && !isLeftBehind && !hasEnded) this.abandoned += messages
  }

  async #within(ms: number, work: Promise<unknown>, hurrying?: AbortSignal): Promise<void> {
    const enough = new AbortController()
    const signals = hurrying === undefined ? [enough.signal] : [enough.signal, hurrying]
    await Promise.race([work, pause(this.#clock, ms, AbortSignal.any(signals))])
    enough.abort()
  }
}
