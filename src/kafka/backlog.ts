import type { RawMessage } from '../message.ts'

/** Records that were taken while nobody polled: the driver's answers come through the same queue as its records. */
export class Backlog {
  #records: RawMessage[] = []

  get isEmpty(): boolean {
    return this.#records.length === 0
  }

  add(records: readonly RawMessage[]): void {
    this.#records.push(...records)
  }

  /** At most `max` records of partitions that are not `held`, in their order. */
  take(max: number, isHeld: (record: RawMessage) => boolean): RawMessage[] {
    const taken: RawMessage[] = []
    const rest: RawMessage[] = []
    for (const record of this.#records) {
      if (taken.length < max && !isHeld(record)) taken.push(record)
      else rest.push(record)
    }
    this.#records = rest
    return taken
  }

  /** Forgets records. */
  drop(isGone: (record: RawMessage) => boolean): void {
    if (this.#records.length > 0) this.#records = this.#records.filter((record) => !isGone(record))
  }
}
