import { setTimeout as sleep } from 'node:timers/promises'
import { PolluxError } from '../errors.ts'
import type { Position } from '../ports/broker.ts'
import type { DriverConsumer, DriverError } from './driver.ts'
import { brokerError, closedError, errorNumber, isPassing, kafkaErrors } from './errors.ts'
import { committable, type Holding, type Holdings } from './partitions.ts'
import type { Secrets } from './secrets.ts'

/** What the driver says once a commit was answered. */
type Answer = DriverError | undefined

// Between the moment the group has a new generation and the moment we know of it, the coordinator refuses.
const rebalancing: ReadonlySet<number> = new Set([
  kafkaErrors.rebalanceInProgress,
  kafkaErrors.illegalGeneration,
  kafkaErrors.staleEpoch,
])

/**
 * Commits positions, one request at a time. The driver's own callback for a commit comes when the request is on its
 * way; what the coordinator answered comes by `answered`, through the queue of records.
 */
export class Committer {
  readonly #consumer: DriverConsumer
  readonly #holdings: Holdings
  readonly #group: string
  readonly #patience: number
  readonly #secrets: Secrets
  readonly #drive: (answer: Promise<unknown>) => Promise<void>
  #last: Promise<unknown> = Promise.resolve()
  #answer: ((answer: Answer) => void) | undefined
  #isClosed = false

  /** `drive` keeps the queue moving until its promise is settled. `patience`: how long a rebalance is waited out. */
  constructor(given: {
    readonly consumer: DriverConsumer
    readonly holdings: Holdings
    readonly group: string
    readonly patience: number
    readonly secrets: Secrets
    readonly drive: (answer: Promise<unknown>) => Promise<void>
  }) {
    this.#consumer = given.consumer
    this.#holdings = given.holdings
    this.#group = given.group
    this.#patience = given.patience
    this.#secrets = given.secrets
    this.#drive = given.drive
  }

  commit(positions: readonly Position[]): Promise<void> {
    const held = positions.map((position) => ({ position, holding: this.#holdings.get(position) }))
    const foreign = held.find(({ holding }) => holding === undefined)
    if (foreign !== undefined) return Promise.reject(this.#notOurs(foreign.position))
    const result = this.#last.then(() => this.#commitAll(held as Held[]))
    this.#last = result.catch(() => undefined)
    return result
  }

  /** True while a request is under way. */
  get isBusy(): boolean {
    return this.#answer !== undefined
  }

  /** The coordinator answered the request that is under way. */
  answered(answer: Answer): void {
    this.#answer?.(answer)
    this.#answer = undefined
  }

  /** Rejects what is under way. */
  close(): void {
    this.#isClosed = true
    this.#answer?.(undefined)
    this.#answer = undefined
  }

  async #commitAll(held: readonly Held[]): Promise<void> {
    // The driver reports an error when all partitions of a request failed; with one topic a request, that is what
    // missing rights and deleted topics do.
    for (const part of Map.groupBy(held, ({ position }) => position.topic).values())
      await this.#commitTopic(part)
  }

  async #commitTopic(held: readonly Held[]): Promise<void> {
    const start = performance.now()
    for (let wait = 20; ; wait = Math.min(500, wait * 2)) {
      const error = await this.#once(held)
      if (this.#isClosed) throw closedError('A group member')
      if (error === undefined) return
      const isRebalancing = rebalancing.has(errorNumber(error) ?? 0)
      const canRepeat = isRebalancing
        ? performance.now() - start < this.#patience
        : isPassing(error)
      if (!canRepeat)
        throw brokerError(`Group ${this.#group} refuses a commit`, error, this.#secrets)
      await sleep(wait)
    }
  }

  async #once(held: readonly Held[]): Promise<Answer> {
    if (this.#isClosed) return undefined
    // A partition that went and came back meanwhile is another holding: its position is the new one's to say.
    const gone = held.find(({ position, holding }) => this.#holdings.get(position) !== holding)
    if (gone !== undefined) throw this.#notOurs(gone.position)
    const answer = new Promise<Answer>((resolve) => {
      this.#answer = resolve
    })
    try {
      this.#consumer.commit(held.map(({ position }) => committable(position)))
    } catch (error: unknown) {
      this.#answer = undefined
      return error as DriverError
    }
    await this.#drive(answer)
    return await answer
  }

  #notOurs({ topic, partition }: Position): PolluxError {
    return new PolluxError(
      'POLLUX_BROKER_REFUSED',
      `Partition ${topic}/${partition} is not ours any more.`,
      {
        hint: `Another member of group ${this.#group} may have it; nothing was committed for it.`,
      },
    )
  }
}

interface Held {
  readonly position: Position
  readonly holding: Holding
}
