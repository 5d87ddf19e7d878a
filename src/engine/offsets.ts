import type { OffsetRange } from '../ports/store.ts'

/**
 * Which position of a partition may be committed: records settle in any order, the position never passes one that
 * has not. Offsets may have gaps (compaction, transaction markers), so the order of fetching is what counts.
 *
 * It keeps numbers, not records: those settled behind a slow one must not stay in memory with it.
 */
export class OffsetTracker {
  #offsets: number[] = []
  #settled: boolean[] = []
  /** Everything in front of it is settled. */
  #head = 0
  /** The place of the first entry. */
  #base = 0
  #end: number
  readonly #before: readonly OffsetRange[]

  /**
   * @param start the position before anything was fetched.
   * @param before what a previous owner has settled above it, in ascending order.
   */
  constructor(start: number, before: readonly OffsetRange[] = []) {
    this.#end = start
    this.#before = before
  }

  /** Adds the next fetched record; its place is what `settle` takes. */
  add(offset: number): number {
    this.#end = offset + 1
    this.#settled.push(false)
    return this.#base + this.#offsets.push(offset) - 1
  }

  /** Marks a record as done, for good. */
  settle(place: number): void {
    this.propose(place)
    if (place - this.#base === this.#head) this.confirm()
  }

  /** Marks a record as done, until `confirm` or `withdraw`: `position` and `settledAbove` count it in. */
  propose(place: number): void {
    this.#settled[place - this.#base] = true
  }

  /** Takes a proposal back. */
  withdraw(place: number): void {
    this.#settled[place - this.#base] = false
  }

  /** All that was proposed is done for good. */
  confirm(): void {
    const { length } = this.#settled
    while (this.#head < length && this.#settled[this.#head] === true) this.#head += 1
    // Cut the settled front off only when it is at least half: each entry is then moved once on average.
    if (this.#head === length || (this.#head > 1024 && this.#head * 2 > length)) {
      this.#offsets.splice(0, this.#head)
      this.#settled.splice(0, this.#head)
      this.#base += this.#head
      this.#head = 0
    }
  }

  /** The offset up to which, excluded, everything is settled. */
  get position(): number {
    return (
      this.#offsets[this.#openIndex] ??
      this.#before.find(({ from, to }) => from <= this.#end && to > this.#end)?.to ??
      this.#end
    )
  }

  get #openIndex(): number {
    let index = this.#head
    while (this.#settled[index] === true) index += 1
    return index
  }

  /** The place of the first record that is not settled, or of the next one to come. */
  get firstOpen(): number {
    return this.#base + this.#head
  }

  /** The lowest offset that may come next. */
  get end(): number {
    return this.#end
  }

  /** How many fetched records lie at or behind the position, settled ones included. */
  get ahead(): number {
    return this.#offsets.length - this.#head
  }

  /**
   * What is settled above the position, as ranges in ascending order; what a previous owner has settled and nobody has
   * fetched since included. Left out, it would be handled again by the owner after this one.
   */
  settledAbove(): OffsetRange[] {
    const ranges: { from: number; to: number }[] = []
    let current: { from: number; to: number } | undefined
    for (let index = this.#openIndex; index < this.#offsets.length; index += 1) {
      const offset = this.#offsets[index] ?? this.#end
      if (this.#settled[index] !== true) {
        current = undefined
      } else if (current === undefined) {
        current = { from: offset, to: offset + 1 }
        ranges.push(current)
      } else {
        current.to = offset + 1
      }
    }
    const { position } = this
    for (const { from, to } of this.#before) {
      const start = Math.max(from, this.#end)
      if (to <= start || to <= position) continue
      const last = ranges.at(-1)
      if (last?.to === start) last.to = to
      else ranges.push({ from: start, to })
    }
    return ranges
  }
}

/** Whether an offset lies in one of the ranges. */
export function isInRanges(offset: number, ranges: readonly OffsetRange[]): boolean {
  return ranges.some(({ from, to }) => offset >= from && offset < to)
}
