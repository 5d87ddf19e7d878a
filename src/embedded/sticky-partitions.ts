/** Bytes of values after which records without a key go to another partition; Java's `batch.size`. */
const batchBytes = 16_384

/** Where records without a key go: a batch to one partition, the next batch to the next one. */
export class StickyPartitions {
  readonly #random: () => number
  readonly #topics = new Map<string, { partition: number; bytes: number }>()

  /** `random` spreads the first choices of many producers. */
  constructor(random: () => number) {
    this.#random = random
  }

  /** The next record of each topic starts a new batch. */
  startBatch(): void {
    for (const [topic, { partition }] of this.#topics)
      this.#topics.set(topic, { partition, bytes: batchBytes })
  }

  next(topic: string, partitions: number, bytes: number): number {
    const current = this.#topics.get(topic)
    if (current !== undefined && current.bytes < batchBytes) {
      current.bytes += bytes + 1
      return current.partition
    }
    const partition =
      current === undefined
        ? Math.floor(this.#random() * partitions)
        : (current.partition + 1) % partitions
    this.#topics.set(topic, { partition, bytes: bytes + 1 })
    return partition
  }
}
