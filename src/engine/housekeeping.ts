import { errorText } from '../errors.ts'
import type { BrokerAdmin } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { LedgerPartition, Store } from '../ports/store.ts'
import type { Service } from '../service.ts'

/** What housekeeping needs of its surroundings. */
export interface HousekeepingParts {
  readonly service: Service
  readonly store: Store
  readonly admin: BrokerAdmin
  readonly clock: Clock
  readonly logger: Logger
  /** Publishes what partitions that nobody owns any more have left. */
  sweep(partitions: readonly LedgerPartition[]): Promise<void>
}

const minute = 60_000
const hour = 60 * minute
// Between two slices, so that the deletes are a small part of what the database does.
const sliceWait = 200
// An owner publishes at once. What is older than this has none, or one that cannot publish.
const abandonedAge = minute

/** What has to be done in the store now and then: marks outlive their window, and partitions go away for good. */
export class Housekeeping {
  readonly #parts: HousekeepingParts
  readonly #cancels = new Set<() => void>()
  #hasStopped = false

  constructor(parts: HousekeepingParts) {
    this.#parts = parts
  }

  start(): void {
    const { idempotency, options } = this.#parts.service
    if (idempotency?.by === 'event-id') {
      const { window } = idempotency
      this.#repeat(Math.min(hour, Math.max(minute, window / 100)), () => this.#forget(window))
    }
    if (options.publish === 'outbox') this.#repeat(minute, () => this.#sweep())
  }

  stop(): void {
    this.#hasStopped = true
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
  }

  /** The first time soon: a service that is restarted often would otherwise never come to it. */
  #repeat(interval: number, action: () => Promise<void>): void {
    let isFailing = false
    const run = async (): Promise<void> => {
      try {
        await action()
        isFailing = false
      } catch (error) {
        if (!isFailing) this.#report(error)
        isFailing = true
      }
      this.#after(interval, run)
    }
    this.#after(Math.min(interval, 10_000) * this.#parts.clock.random(), run)
  }

  #after(ms: number, action: () => Promise<void>): void {
    if (this.#hasStopped) return
    const cancel = this.#parts.clock.after(ms, () => {
      this.#cancels.delete(cancel)
      void action()
    })
    this.#cancels.add(cancel)
  }

  /** It is no part of any guarantee, and comes again. */
  #report(error: unknown): void {
    if (this.#hasStopped) return
    this.#parts.logger.warn({ error: errorText(error) }, 'housekeeping failed, trying again later')
  }

  async #forget(window: number): Promise<void> {
    const { store, service } = this.#parts
    while (!this.#hasStopped && (await store.forget(service.name, window)))
      await new Promise<void>((resolve) => this.#after(sliceWait, async () => resolve()))
  }

  async #sweep(): Promise<void> {
    const { store, service, admin } = this.#parts
    const left = await store.unpublished(service.name, abandonedAge)
    if (left.length === 0) return
    const inputs = new Set(service.inputs.map(({ name }) => name))
    const sizes = new Map((await admin.topics()).map(({ name, partitions }) => [name, partitions]))
    // A partition that the group still gives to somebody is that owner's affair.
    const gone = left.filter(
      ({ topic, partition }) => !inputs.has(topic) || partition >= (sizes.get(topic) ?? 0),
    )
    if (gone.length > 0) await this.#parts.sweep(gone)
  }
}
