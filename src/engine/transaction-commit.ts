import { reducedLetter } from '../dead-letter/dead-letter.ts'
import { PolluxError } from '../errors.ts'
import type { OutgoingRecord, Position, TransactionResult } from '../ports/broker.ts'
import type { Partition, Work } from './partition.ts'
import { outputRefused } from './publisher.ts'

/** What transactions need of their surroundings. */
export interface TransactionParts {
  transact(
    records: readonly OutgoingRecord[],
    positions: readonly Position[],
  ): Promise<TransactionResult>
  /** Outputs and position are committed. */
  finished(work: Work): void
  /** It is somebody else's by now, or a message before it has failed. */
  dropped(work: Work): void
  refused(work: Work, error: PolluxError): void
  /** Waits before a refused transaction is tried again. */
  pause(): Promise<void>
  /** Where dead letters go; and whether nobody waits for them any more. */
  readonly letters: { readonly topic: string | undefined; readonly stopping: AbortSignal }
  broken(error: unknown): void
}

// Of messages in a transaction.
const largest = 1_000

/**
 * Commits outputs and positions together, in the broker's transactions. A transaction takes of each partition only what
 * finished without a gap from its position on: an output of a message behind the position would be written again when
 * that message is delivered again.
 */
export class TransactionCommit {
  readonly #parts: TransactionParts
  /** Finished, by partition and place. */
  readonly #finished = new Map<Partition, Map<number, Work>>()
  /** Where partitions stop. */
  readonly #ends = new WeakMap<Partition, number>()
  #isCommitting = false

  constructor(parts: TransactionParts) {
    this.#parts = parts
  }

  add(work: Work): void {
    const { partition } = work
    if (work.place > (this.#ends.get(partition) ?? work.place)) return this.#parts.dropped(work)
    let places = this.#finished.get(partition)
    if (places === undefined) {
      places = new Map()
      this.#finished.set(partition, places)
    }
    places.set(work.place, work)
    if (this.#isCommitting) return
    this.#isCommitting = true
    // What finishes in the same turn shares the first transaction.
    queueMicrotask(() => void this.#commitAll())
  }

  /** The partition goes no further than this message, which does not finish: what finished behind it is delivered again. */
  stopAt({ partition, place }: Work): void {
    this.#ends.set(partition, Math.min(place, this.#ends.get(partition) ?? place))
    this.#dropBehind(partition, place)
  }

  #dropBehind(partition: Partition, end: number): void {
    const places = this.#finished.get(partition)
    if (places === undefined) return
    for (const [place, work] of places) {
      if (place <= end) continue
      places.delete(place)
      this.#parts.dropped(work)
    }
    if (places.size === 0) this.#finished.delete(partition)
  }

  async #commitAll(): Promise<void> {
    try {
      for (let works = this.#next(); works.length > 0; works = this.#next())
        await this.#commit(works)
      this.#isCommitting = false
    } catch (error) {
      this.#parts.broken(error)
    }
  }

  #next(): Work[] {
    const works: Work[] = []
    for (const [partition, places] of this.#finished) {
      if (partition.hasEnded) this.#dropBehind(partition, -1)
      let place = partition.tracker.firstOpen
      for (let work = places.get(place); work !== undefined; work = places.get(place)) {
        if (works.length === largest) return works
        works.push(work)
        place += 1
      }
    }
    return works
  }

  async #commit(works: readonly Work[]): Promise<void> {
    const positions = new Map<Partition, number>()
    for (const { partition, offset } of works) positions.set(partition, offset + 1)
    const records = works.flatMap(({ outputs }) => outputs)
    const result = await this.#parts.transact(
      records,
      [...positions].map(([partition, offset]) => partition.positionAt(offset)),
    )
    if (result.outcome === 'committed') return this.#advance(works, positions)
    if (result.refusals.length === 0) return this.#parts.pause()
    const owners = works.flatMap((work) => work.outputs.map(() => work))
    const refused = new Map<Work, PolluxError>()
    for (const { index, error } of result.refusals) {
      const [work, record] = [owners[index], records[index]]
      if (work !== undefined && record !== undefined && !refused.has(work))
        refused.set(work, outputRefused(record, error))
    }
    for (const [work, error] of refused) {
      if (!(await this.#reduce(work, error))) this.#refuse(work, error)
    }
  }

  #advance(works: readonly Work[], positions: ReadonlyMap<Partition, number>): void {
    for (const work of works) {
      this.#finished.get(work.partition)?.delete(work.place)
      work.partition.tracker.settle(work.place)
    }
    for (const [partition, offset] of positions) {
      partition.done = offset
      partition.committed = offset
      if (this.#finished.get(partition)?.size === 0) this.#finished.delete(partition)
    }
    for (const work of works) this.#parts.finished(work)
  }

  /** A dead letter is never given up: it is made smaller, or waited for. */
  async #reduce(work: Work, error: PolluxError): Promise<boolean> {
    const [letter] = work.outputs
    const { letters, pause } = this.#parts
    if (letter === undefined || letter.topic !== letters.topic || letters.stopping.aborted)
      return false
    const reduced = PolluxError.is(error.cause, 'POLLUX_RECORD_TOO_LARGE')
      ? reducedLetter(letter)
      : undefined
    if (reduced === undefined) await pause()
    else work.outputs = [reduced]
    return true
  }

  /** A refused message stops its partition; those before it are tried again without it. */
  #refuse(work: Work, error: PolluxError): void {
    if (this.#finished.get(work.partition)?.delete(work.place) !== true) return
    this.#parts.refused(work, error)
    this.stopAt(work)
  }
}
