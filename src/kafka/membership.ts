import type { Position } from '../ports/broker.ts'
import type { DriverConsumer } from './driver.ts'
import type { Holding, Holdings } from './partitions.ts'
import { settlesWithin } from './patience.ts'

/**
 * What a transaction needs of a member: its consumer, by which the driver says to the group who stores the positions,
 * and whether the partitions are still the member's own. Not part of the port.
 */
export class Membership {
  readonly #consumer: DriverConsumer
  readonly #holdings: Holdings
  readonly #lent = new Set<Promise<unknown>>()
  #isOver = false

  constructor(consumer: DriverConsumer, holdings: Holdings) {
    this.#consumer = consumer
    this.#holdings = holdings
  }

  /** What the member holds of the partitions of these positions; undefined when one is not its own. */
  holdingsOf(positions: readonly Position[]): readonly Holding[] | undefined {
    const found = this.#holdings.of(positions)
    return found.length === positions.length && this.holds(found) ? found : undefined
  }

  /**
   * Runs a task with the consumer, which is not taken down before the task is done: the driver would crash. False when
   * the member has not all of these any more, before the task or after it. After it counts, too: once the driver knows
   * that the group has put the member out, it names none, and then the group takes positions of anybody.
   */
  async lend(
    holdings: readonly Holding[],
    task: (consumer: DriverConsumer) => Promise<void>,
  ): Promise<boolean> {
    if (!this.holds(holdings)) return false
    const result = task(this.#consumer)
    this.#lent.add(result)
    try {
      await result
    } finally {
      this.#lent.delete(result)
    }
    return this.holds(holdings)
  }

  /** True while the member still has all of these. */
  holds(holdings: readonly Holding[]): boolean {
    if (this.#isOver || this.#consumer.assignmentLost()) return false
    return holdings.every((holding) => this.#holdings.get(holding) === holding)
  }

  /** Ends lending. True once nobody has the consumer any more, false when that takes longer than `limit` milliseconds. */
  async end(limit: number): Promise<boolean> {
    this.#isOver = true
    return await settlesWithin(Promise.allSettled(this.#lent), limit)
  }
}
