import type { Admission } from './admission.ts'
import type { Lanes } from './lanes.ts'
import type { Partition, Work } from './partition.ts'

/** Messages that are handled in one call, and what was found to have had its effect when they were taken. */
export interface Batch {
  /** Those of a partition in the order of fetching. */
  readonly works: readonly Work[]
  readonly skipped: readonly Work[]
}

/** What the source needs of its surroundings. */
export interface BatchSourceParts {
  readonly lanes: Pick<Lanes, 'nextOf'>
  readonly admission: Pick<Admission, 'admit'> | undefined
  /** How many a batch has at most. */
  readonly most: number
  partitions(): readonly Partition[]
}

/**
 * Takes what may be handled together. One partition after the other is emptied, rather than all of them by turns: what
 * a full batch has left of them can be handled by another call meanwhile.
 */
export class BatchSource {
  readonly #parts: BatchSourceParts
  #turn = 0

  constructor(parts: BatchSourceParts) {
    this.#parts = parts
  }

  /** The next batch, begun; undefined when there is nothing to start. Busy partitions are left alone. */
  take(busy?: ReadonlySet<Partition>): Batch | undefined {
    const partitions = this.#parts.partitions()
    const batch = { works: [], skipped: [] }
    const first = this.#turn
    for (let count = 0; count < partitions.length && !this.#isFull(batch); count += 1) {
      const index = (first + count) % partitions.length
      const partition = partitions[index]
      // Whoever has filled a batch is the last to be looked at next.
      this.#turn = index + 1
      if (partition !== undefined && busy?.has(partition) !== true) this.#takeFrom(partition, batch)
    }
    return sizeOf(batch) === 0 ? undefined : batch
  }

  #takeFrom(partition: Partition, batch: MutableBatch): void {
    const { lanes, admission } = this.#parts
    while (!this.#isFull(batch)) {
      const work = lanes.nextOf(partition)
      if (work === undefined) return
      const admitted = admission?.admit(work)
      if (admitted === 'wait') continue
      work.begin()
      if (admitted === 'skip') batch.skipped.push(work)
      else batch.works.push(work)
    }
  }

  #isFull(batch: Batch): boolean {
    return sizeOf(batch) >= this.#parts.most
  }
}

interface MutableBatch extends Batch {
  readonly works: Work[]
  readonly skipped: Work[]
}

function sizeOf({ works, skipped }: Batch): number {
  return works.length + skipped.length
}
