import { PolluxError } from '../errors.ts'
import type { BrokerProducer, OutgoingRecord } from '../ports/broker.ts'

/** What is published as one: the outputs of a message, or of a unit. */
export interface Publication {
  /** Nothing of a partition that has ended is sent, as its next owner does so; nor of one that is stuck. */
  readonly partition: { readonly hasEnded: boolean; readonly isStuck: boolean }
  readonly outputs: readonly OutgoingRecord[]
}

/** What becomes of publications. None may throw. */
export interface Deliveries<P extends Publication> {
  /** All are acknowledged by all in-sync replicas, or the partition has ended or is stuck. Called in the order of `add`. */
  acknowledged(publication: P): void
  /** One was refused for good. */
  refused(publication: P, error: PolluxError): void
  /** The producer does not work any more. */
  broken(error: unknown): void
}

// Enough to fill requests to several partitions, small enough not to hold a burst's first message back.
const largestBatch = 2_000

/**
 * Sends outputs. One batch is on its way at a time and takes all that has gathered meanwhile: under light load a
 * message goes out at once, under heavy load hundreds share the round trip, and order needs no further thought.
 */
export class Publisher<P extends Publication> {
  readonly #producer: BrokerProducer
  readonly #deliveries: Deliveries<P>
  #queue: P[] = []
  #isSending = false

  constructor(producer: BrokerProducer, deliveries: Deliveries<P>) {
    this.#producer = producer
    this.#deliveries = deliveries
  }

  /**
   * Queues outputs behind earlier ones. What has none keeps its place in the queue, so that nothing is committed before
   * what came earlier in its lane.
   */
  add(publication: P): void {
    this.#queue.push(publication)
    if (this.#isSending) return
    this.#isSending = true
    // What finishes in the same turn shares the first batch.
    queueMicrotask(() => void this.#sendAll())
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#queue.length > 0) await this.#sendBatch(this.#nextBatch())
      this.#isSending = false
    } catch (error) {
      // Nothing more is sent after a batch whose fate is unknown: that could overtake it.
      this.#deliveries.broken(error)
    }
  }

  #nextBatch(): P[] {
    let records = 0
    let length = 0
    while (length < this.#queue.length && length < largestBatch && records < largestBatch) {
      records += this.#queue[length]?.outputs.length ?? 0
      length += 1
    }
    return this.#queue.splice(0, length)
  }

  async #sendBatch(batch: readonly P[]): Promise<void> {
    const records: OutgoingRecord[] = []
    const owners: P[] = []
    for (const publication of batch) {
      if (publication.partition.hasEnded || publication.partition.isStuck) continue
      for (const record of publication.outputs) {
        records.push(record)
        owners.push(publication)
      }
    }
    const refusals = records.length === 0 ? [] : await this.#producer.send(records)
    const refused = new Map<P, PolluxError>()
    for (const { index, error } of refusals) {
      const [publication, record] = [owners[index], records[index]]
      if (publication !== undefined && record !== undefined && !refused.has(publication))
        refused.set(publication, outputRefused(record, error))
    }
    for (const publication of batch) {
      const error = refused.get(publication)
      if (error === undefined) this.#deliveries.acknowledged(publication)
      else this.#deliveries.refused(publication, error)
    }
  }
}

/** Why the broker would refuse one of these for good, as far as `check` knows that beforehand. */
export function refusalOf(
  outputs: readonly OutgoingRecord[],
  check: (record: OutgoingRecord) => Error | undefined,
): PolluxError | undefined {
  for (const output of outputs) {
    const cause = check(output)
    if (cause !== undefined) return outputRefused(output, cause)
  }
  return undefined
}

export function outputRefused(record: OutgoingRecord, cause: Error): PolluxError {
  return new PolluxError(
    'POLLUX_OUTPUT_REFUSED',
    `The broker cannot take an output for ${record.topic}: ${cause.message}`,
    { cause },
  )
}
