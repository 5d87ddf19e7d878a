import { PolluxError } from '../errors.ts'
import type { BrokerProducer, OutgoingRecord } from '../ports/broker.ts'
import type { Work } from './partition.ts'

/** What becomes of the outputs of a message. None may throw. */
export interface Deliveries {
  /** All are acknowledged by all in-sync replicas. Called in the order of `add`. */
  acknowledged(work: Work): void
  /** One was refused for good. */
  refused(work: Work, error: Error): void
  /** The producer does not work any more. */
  broken(error: unknown): void
}

// Enough to fill requests to several partitions, small enough not to hold a burst's first message back.
const largestBatch = 2_000

/**
 * Sends outputs. One batch is on its way at a time and takes all that has gathered meanwhile: under light load a
 * message goes out at once, under heavy load hundreds share the round trip, and order needs no further thought.
 */
export class Publisher {
  readonly #producer: BrokerProducer
  readonly #deliveries: Deliveries
  #works: Work[] = []
  #outputs: (readonly OutgoingRecord[])[] = []
  #isSending = false

  constructor(producer: BrokerProducer, deliveries: Deliveries) {
    this.#producer = producer
    this.#deliveries = deliveries
  }

  /**
   * Queues the outputs of a message behind those of earlier ones. A message without any keeps its place in the queue,
   * so that its effects are not committed before those of an earlier message of its key.
   */
  add(work: Work, outputs: readonly OutgoingRecord[]): void {
    this.#works.push(work)
    this.#outputs.push(outputs)
    if (this.#isSending) return
    this.#isSending = true
    // What finishes in the same turn shares the first batch.
    queueMicrotask(() => void this.#sendAll())
  }

  /** Why the broker would refuse one of these for good, as far as that is known beforehand. */
  check(outputs: readonly OutgoingRecord[]): PolluxError | undefined {
    for (const output of outputs) {
      const cause = this.#producer.check(output)
      if (cause !== undefined) return refusal(output, cause)
    }
    return undefined
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#works.length > 0) await this.#sendBatch()
      this.#isSending = false
    } catch (error) {
      // Nothing more is sent after a batch whose fate is unknown: that could overtake it.
      this.#deliveries.broken(error)
    }
  }

  async #sendBatch(): Promise<void> {
    const works = this.#works.splice(0, largestBatch)
    const outputs = this.#outputs.splice(0, largestBatch)
    const records: OutgoingRecord[] = []
    const owners: Work[] = []
    works.forEach((work, index) => {
      // Its partition is somebody else's by now, who does it again.
      if (work.partition.hasEnded) return
      for (const record of outputs[index] ?? []) {
        records.push(record)
        owners.push(work)
      }
    })
    const refusals = records.length === 0 ? [] : await this.#producer.send(records)
    const refused = new Map<Work, Error>()
    for (const { index, error } of refusals) {
      const [work, record] = [owners[index], records[index]]
      if (work !== undefined && record !== undefined && !refused.has(work))
        refused.set(work, refusal(record, error))
    }
    for (const work of works) {
      const error = refused.get(work)
      if (error === undefined) this.#deliveries.acknowledged(work)
      else this.#deliveries.refused(work, error)
    }
  }
}

function refusal(record: OutgoingRecord, cause: Error): PolluxError {
  return new PolluxError(
    'POLLUX_OUTPUT_REFUSED',
    `The broker cannot take an output for ${record.topic}: ${cause.message}`,
    {
      cause,
    },
  )
}
