import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../errors.ts'
import type { AssignedPartition, GroupListener, Position, TopicPartition } from '../ports/broker.ts'
import type { Logger } from '../ports/logger.ts'
import type { DriverConsumer, DriverPosition } from './driver.ts'
import { bare, type Holding, type Holdings } from './partitions.ts'

/** The code of an assignment; the other one that comes is -174, a revocation. */
const assignCode = -175

/** What a rebalance needs of its member. */
export interface RebalanceHost {
  readonly consumer: DriverConsumer
  readonly holdings: Holdings
  readonly listener: GroupListener
  readonly logger: Logger
  /** How long the group waits for the answer to a rebalance, in milliseconds. */
  readonly limit: number
  /** Finds where partitions start. */
  starts(partitions: readonly TopicPartition[]): Promise<readonly AssignedPartition[]>
  /** Drops records of partitions that are on their way to the owner. */
  forget(partitions: readonly TopicPartition[]): void
  /** The member cannot go on. */
  fail(error: unknown): void
}

/**
 * Answers the driver's rebalances, one after the other. Each has to be answered, whatever happens: the driver waits
 * for it, and closing would wait for ever. Until then the group waits as well, for these partitions alone.
 */
export class Rebalance {
  readonly #host: RebalanceHost
  #last: Promise<void> = Promise.resolve()
  #pending = 0
  #hasPlace = false
  #isClosing = false

  constructor(host: RebalanceHost) {
    this.#host = host
  }

  /** True while a listener is at work. */
  get isBusy(): boolean {
    return this.#pending > 0
  }

  /** True once the group has given the member something, be it nothing. */
  get hasPlace(): boolean {
    return this.#hasPlace
  }

  /** From now on rebalances are answered without the listener: the client is being taken down. */
  close(): void {
    this.#isClosing = true
  }

  /** The driver wants partitions given or taken. */
  handle(code: number, partitions: readonly DriverPosition[]): void {
    this.#pending += 1
    this.#hasPlace = true
    this.#last = this.#last
      .then(() => (code === assignCode ? this.#assign(partitions) : this.#revoke(partitions)))
      .catch((error: unknown) => this.#host.fail(error))
      .finally(() => {
        this.#pending -= 1
      })
  }

  async #assign(given: readonly DriverPosition[]): Promise<void> {
    const { consumer, holdings } = this.#host
    const added = holdings.add(given.map(bare))
    if (this.#isClosing || added.length === 0)
      return this.#answer(() => consumer.incrementalAssign(given))
    let positions: readonly Position[] = []
    let failure: { readonly error: unknown } | undefined
    try {
      positions = await this.#positions(added)
    } catch (error: unknown) {
      // The driver has to be answered all the same; nothing is delivered, and nothing of it is committed.
      failure = { error }
    }
    this.#answer(() =>
      consumer.incrementalAssign(positions.length > 0 ? positions : given.map(bare)),
    )
    for (const holding of added) {
      holding.phase = 'ours'
      if (failure !== undefined) holding.isPaused = true
    }
    // Librdkafka remembers a pause beyond the loss of the partition: one that was given up, which pauses it, and comes
    // back would never be delivered again.
    const running = added.filter(({ isPaused }) => !isPaused).map(bare)
    if (running.length > 0) this.#answer(() => consumer.resume(running))
    const paused = added.filter(({ isPaused }) => isPaused).map(bare)
    if (paused.length > 0) this.#answer(() => consumer.pause(paused))
    if (failure !== undefined) throw failure.error
  }

  /** Asks the listener where to begin. A seek that came meanwhile has the last word. */
  async #positions(added: readonly Holding[]): Promise<readonly Position[]> {
    const { listener, holdings } = this.#host
    const starts = await this.#host.starts(added.map(bare))
    const chosen = await listener.assigned(starts)
    const offsets = new Map(added.map((holding, index) => [holding, starts[index]?.start ?? 0]))
    for (const { offset, ...partition } of chosen) {
      const holding = holdings.get(partition)
      if (holding !== undefined && offsets.has(holding)) offsets.set(holding, offset)
    }
    return added.map((holding) => ({
      ...bare(holding),
      offset: holding.seekTo ?? offsets.get(holding) ?? 0,
    }))
  }

  async #revoke(given: readonly DriverPosition[]): Promise<void> {
    const { consumer, holdings, logger } = this.#host
    // A partition that is not known was given up before, when the client failed.
    const leaving = holdings.of(given)
    if (leaving.length > 0) {
      for (const holding of leaving) holding.phase = 'going'
      this.#answer(() => consumer.pause(leaving.map(bare)))
      this.#host.forget(leaving)
      if (!this.#isClosing && !(await this.#giveUp(leaving.map(bare)))) {
        logger.warn(
          { partitions: leaving.map(bare) },
          'Partitions were lost: the group gave them to another member',
        )
      }
      holdings.remove(leaving)
    }
    this.#answer(() => consumer.incrementalUnassign(given.map(bare)))
  }

  /** Lets the owner finish. False when the partitions were lost before, or while it did. */
  async #giveUp(partitions: readonly TopicPartition[]): Promise<boolean> {
    const { listener, logger } = this.#host
    if (this.#isLost()) {
      listener.lost(partitions)
      return false
    }
    let isDone = false
    const done = listener.revoked(partitions).catch((error: unknown) => {
      logger.error(
        { error: errorText(error), partitions },
        'Giving up partitions failed; they are given up as they are',
      )
    })
    void done.then(() => {
      isDone = true
    })
    // The group does not wait for ever: after pollLimit it goes on without us, and somebody else has the partitions.
    // Librdkafka notices only when it is answered, so the time is watched here.
    const deadline = performance.now() + this.#host.limit
    while (!isDone) {
      await Promise.race([done, sleep(100)])
      if (isDone || (!this.#isLost() && performance.now() < deadline)) continue
      listener.lost(partitions)
      return false
    }
    return true
  }

  #isLost(): boolean {
    return !this.#isClosing && this.#host.consumer.assignmentLost()
  }

  #answer(answer: () => void): void {
    try {
      answer()
    } catch (error: unknown) {
      // The assignment changed meanwhile, or the client is being taken down: the driver calls again, or needs none.
      this.#host.logger.debug(
        { error: errorText(error) },
        'The Kafka client did not take an answer to a rebalance',
      )
      if (this.#isClosing) this.#host.consumer.unassign()
    }
  }
}
