import type { OffsetRange } from '../ports/store.ts'

/** A fetched record, as far as positions are concerned. */
export interface Tracked {
  readonly offset: number
  settled: boolean
}

/**
 * Which position of a partition may be committed: records settle in any order, the position never passes one that
 * has not. Offsets may have gaps (compaction, transaction markers), so the order of fetching is what counts.
 */
export class OffsetTracker {
  #entries: Tracked[] = []
  #head = 0
  #end: number

  /** @param start the position before anything was fetched. */
  constructor(start: number) {
    this.#end = start
  }

  /** Adds the next fetched record. */
  add(entry: Tracked): void {
    this.#entries.push(entry)
    this.#end = entry.offset + 1
  }

  /** Marks a record as done. */
  settle(entry: Tracked): void {
    entry.settled = true
    if (entry === this.#entries[this.#head]) this.#advance()
  }

  #advance(): void {
    while (this.#entries[this.#head]?.settled === true) this.#head += 1
    // Cut the settled front off only when it is at least half: each entry is then moved once on average.
    if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
  }

  /** The offset up to which, excluded, everything fetched is settled. */
  get position(): number {
    return this.#entries[this.#head]?.offset ?? this.#end
  }

  /** How many fetched records are not behind the position. */
  get open(): number {
    return this.#entries.length - this.#head
  }

  /** What is settled above the position, as ranges in ascending order. */
  settledAbove(): OffsetRange[] {
    const ranges: { from: number; to: number }[] = []
    let current: { from: number; to: number } | undefined
    for (let index = this.#head; index < this.#entries.length; index += 1) {
      const entry = this.#entries[index]
      if (entry?.settled !== true) {
        current = undefined
      } else if (current === undefined) {
        current = { from: entry.offset, to: entry.offset + 1 }
        ranges.push(current)
      } else {
        current.to = entry.offset + 1
      }
    }
    return ranges
  }
}

/** Whether an offset lies in one of the ranges. */
export function isInRanges(offset: number, ranges: readonly OffsetRange[]): boolean {
  return ranges.some(({ from, to }) => offset >= from && offset < to)
}
