import type { PolluxError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { AcknowledgedOutputs, StoredOutputs } from '../ports/store.ts'
import type { Partition, StoredBatch, Work } from './partition.ts'
import { bytesOf, type UnitPart } from './unit.ts'

/** What the outbox needs of its surroundings. */
export interface OutboxParts {
  publish(batch: StoredBatch): void
  /** `Store.acknowledge` of this service, tried once. */
  acknowledge(partitions: readonly AcknowledgedOutputs[]): Promise<void>
  /** Everything of this message is done. */
  finished(work: Work): void
  /** So is everything of what a previous owner has stored in a unit of this partition. */
  recovered(partition: Partition): void
  /** The broker does not take an output that the store has already. */
  refused(batch: StoredBatch, error: PolluxError): void
  readonly clock: Clock
  /** How many bytes may be stored and not published. */
  readonly largest: number
}

// Units tell the store by the way what was acknowledged; when none follows for so long, it is told by itself.
const idleTime = 500

/**
 * What happens between the store's commit and the broker's acknowledgement. Outputs are published by the process that
 * stored them, at once; the store's copy is for the next owner, in case this one dies in between.
 */
export class Outbox {
  readonly #parts: OutboxParts
  #bytes = 0
  #waiting: PromiseWithResolvers<void> | undefined
  readonly #told = new Set<Partition>()
  #cancel: (() => void) | undefined
  #hasStopped = false

  constructor(parts: OutboxParts) {
    this.#parts = parts
  }

  /** A unit was committed: publishes its outputs of one partition. */
  stored({ partition, works, outputs, lowest, bytes }: UnitPart): void {
    if (outputs.length === 0) {
      for (const work of works) this.#parts.finished(work)
      return
    }
    // Those of no message count as work themselves, as what a previous owner has left.
    if (works.length === 0) partition.inFlight += 1
    this.#publish({ partition, unit: partition.unit, outputs, works, lowest, bytes })
  }

  /**
   * Publishes first of all what the previous owner has stored and nobody has acknowledged.
   * @param lowest the position that the group has: it stays there meanwhile
   */
  recover(partition: Partition, left: readonly StoredOutputs[], lowest: number): void {
    for (const { unit, records } of left) {
      // Counts as work: the partition is not given up while it is on its way.
      partition.inFlight += 1
      const bytes = bytesOf(records)
      this.#publish({ partition, unit, outputs: records, works: [], lowest, bytes })
    }
  }

  #publish(batch: StoredBatch): void {
    batch.partition.unpublished.push(batch)
    this.#bytes += batch.bytes
    this.#parts.publish(batch)
  }

  /** Called in the order of publishing. */
  acknowledged(batch: StoredBatch): void {
    const { partition, unit } = batch
    this.#free(batch)
    if (!partition.hasEnded && !partition.isStuck) {
      partition.unpublished.shift()
      partition.acknowledged = unit
      this.#tellLater(partition)
    }
    this.#finish(batch)
  }

  /** The store keeps it, and the partition stops: it is published again at the next start. */
  refused(batch: StoredBatch, error: PolluxError): void {
    this.#free(batch)
    batch.partition.isStuck = true
    this.#parts.refused(batch, error)
    this.#finish(batch)
  }

  #finish({ partition, works }: StoredBatch): void {
    if (works.length === 0) this.#parts.recovered(partition)
    for (const work of works) this.#parts.finished(work)
  }

  /** Resolves when there is room for more; undefined when there is now. */
  room(): Promise<void> | undefined {
    if (this.#bytes < this.#parts.largest) return undefined
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  #free({ bytes }: StoredBatch): void {
    this.#bytes -= bytes
    if (this.#waiting === undefined || this.#bytes >= this.#parts.largest) return
    this.#waiting.resolve()
    this.#waiting = undefined
  }

  /** Tells the store what was acknowledged of these partitions, so that their next owner publishes nothing twice. */
  async settle(partitions: Iterable<Partition>): Promise<void> {
    const told = [...partitions].flatMap((owned) => {
      this.#told.delete(owned)
      const { topic, partition, epoch, acknowledged } = owned
      owned.acknowledged = undefined
      if (acknowledged === undefined || epoch === undefined) return []
      return [{ owned, topic, partition, epoch, unit: acknowledged }]
    })
    if (told.length === 0) return
    try {
      await this.#parts.acknowledge(told.map(({ owned: _, ...acknowledged }) => acknowledged))
    } catch {
      // The next unit tells it, or the next try; at the worst the next owner publishes again.
      for (const { owned, unit } of told) {
        owned.acknowledged ??= unit
        this.#tellLater(owned)
      }
    }
  }

  #tellLater(partition: Partition): void {
    this.#told.add(partition)
    if (!this.#hasStopped) this.#cancel ??= this.#parts.clock.after(idleTime, this.#tellAll)
  }

  readonly #tellAll = (): void => {
    this.#cancel = undefined
    const told = [...this.#told].filter(({ hasEnded }) => !hasEnded)
    this.#told.clear()
    void this.settle(told)
  }

  /** Ends the schedule. */
  stop(): void {
    this.#hasStopped = true
    this.#cancel?.()
    this.#cancel = undefined
  }
}
