import { errorText } from '../errors.ts'
import type { Position } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Partition } from './partition.ts'

const retryWait = 1_000

/**
 * Brings the durable positions to the group: one commit at a time, at most one per interval, and one at once when
 * `flush` is called.
 */
export class OffsetCommitter {
  readonly #commit: (positions: readonly Position[]) => Promise<void>
  readonly #partitions: () => Iterable<Partition>
  readonly #interval: number
  readonly #clock: Clock
  readonly #logger: Logger
  #cancel: (() => void) | undefined
  #lastCommit = Number.NEGATIVE_INFINITY
  #current: Promise<boolean> | undefined
  #isFailing = false

  constructor(parts: {
    readonly commit: (positions: readonly Position[]) => Promise<void>
    readonly partitions: () => Iterable<Partition>
    readonly interval: number
    readonly clock: Clock
    readonly logger: Logger
  }) {
    this.#commit = parts.commit
    this.#partitions = parts.partitions
    this.#interval = parts.interval
    this.#clock = parts.clock
    this.#logger = parts.logger
  }

  /** Something may have become committable. Cheap to call for each message. */
  poke(): void {
    if (this.#cancel !== undefined || this.#current !== undefined) return
    const due = this.#lastCommit + this.#interval - this.#clock.now()
    this.#schedule(Math.max(0, due))
  }

  /** Commits all that is durable now. Resolves whether or not the group took it: what it did not is delivered again. */
  async flush(): Promise<void> {
    while (this.#current !== undefined) await this.#current
    await this.#run()
  }

  /** Ends the schedule. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #schedule(wait: number): void {
    this.#cancel = this.#clock.after(wait, () => {
      this.#cancel = undefined
      if (this.#current === undefined) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#current = this.#commitOnce()
    const hasSucceeded = await this.#current
    this.#current = undefined
    this.#lastCommit = this.#clock.now()
    if (!hasSucceeded) this.#schedule(retryWait)
    else if (this.#pending().length > 0) this.poke()
  }

  #pending(): Partition[] {
    return [...this.#partitions()].filter(
      ({ hasEnded, durable, committed }) => !hasEnded && durable !== committed,
    )
  }

  async #commitOnce(): Promise<boolean> {
    const partitions = this.#pending()
    if (partitions.length === 0) return true
    const positions = partitions.map((partition) => partition.positionAt(partition.durable))
    try {
      await this.#commit(positions)
    } catch (error) {
      // A refusal in the middle of a rebalance is common and passes by itself, so only a lasting one is worth a warning.
      const log = this.#isFailing ? this.#logger.warn : this.#logger.debug
      log.call(
        this.#logger,
        { error: errorText(error) },
        'the group did not take the offsets, trying again',
      )
      this.#isFailing = true
      return false
    }
    this.#isFailing = false
    partitions.forEach((partition, index) => {
      partition.committed = positions[index]?.offset
    })
    return true
  }
}
