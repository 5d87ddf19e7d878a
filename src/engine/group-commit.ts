import type { LedgerChange, StateChange, Store } from '../ports/store.ts'
import type { Cell, Partition, Work } from './partition.ts'
import type { StateCells } from './state-cells.ts'

/** What becomes of finished work. None may throw. */
export interface Commits {
  /** Its effects are durable. */
  settled(work: Work): void
  /** It was dropped before its effects were stored; nothing built on its change may be stored either. */
  dropped(work: Work): void
  /** Somebody else has moved what this work was built on: these partitions have to start anew from their ledger. */
  overtaken(partitions: readonly Partition[], isFenced: boolean): Promise<void>
  /** The store has refused for good. */
  broken(error: unknown): void
}

// More does not get faster, and holds the first message's commit back.
const largestUnit = 1_000

/**
 * Stores the effects of finished messages. One transaction is under way at a time and takes all that has finished
 * since the last one began: the latency of one transaction under light load, the throughput of a batch under heavy
 * load, and nothing to tune.
 */
export class GroupCommit {
  readonly #service: string
  readonly #commit: Store['commit']
  readonly #cells: StateCells
  readonly #commits: Commits
  #finished: Work[] = []
  #isCommitting = false

  constructor(parts: {
    readonly service: string
    /** `Store.commit`, repeated while the store cannot be reached. */
    readonly commit: Store['commit']
    readonly cells: StateCells
    readonly commits: Commits
  }) {
    this.#service = parts.service
    this.#commit = parts.commit
    this.#cells = parts.cells
    this.#commits = parts.commits
  }

  add(work: Work): void {
    this.#finished.push(work)
    if (this.#isCommitting) return
    this.#isCommitting = true
    void this.#commitAll()
  }

  async #commitAll(): Promise<void> {
    try {
      while (this.#finished.length > 0)
        await this.#commitUnit(this.#finished.splice(0, largestUnit))
      this.#isCommitting = false
    } catch (error) {
      this.#commits.broken(error)
    }
  }

  async #commitUnit(finished: readonly Work[]): Promise<void> {
    const works = await this.#sound(finished)
    if (works.length === 0) return
    for (const work of works) work.partition.tracker.settle(work.place)
    const partitions = [...new Set(works.map(({ partition }) => partition))]
    const latest = latestChanges(works)
    const ledger = partitions.map(ledgerChange)
    const result = await this.#commit({
      service: this.#service,
      states: latest.map(stateChange),
      ledger,
    })
    if (result.outcome !== 'committed') {
      for (const work of works) this.#commits.dropped(work)
      await this.#commits.overtaken(partitions, result.outcome === 'fenced')
      return
    }
    latest.forEach(({ cell }, index) => {
      cell.version = result.versions[index] ?? cell.version
    })
    partitions.forEach((partition, index) => {
      partition.durable = ledger[index]?.next ?? partition.durable
    })
    for (const work of works) {
      if (work.change !== undefined) this.#cells.release(work.change.cell)
      this.#commits.settled(work)
    }
  }

  /**
   * Leaves out work of ended partitions, and work built on a value that was dropped: its partition starts anew. That
   * drops more, and what was built on it in turn, so it is repeated until nothing unsound is left.
   */
  async #sound(finished: readonly Work[]): Promise<readonly Work[]> {
    let sound = finished
    for (;;) {
      const unsound = new Set(sound.filter((work) => !isSound(work)))
      if (unsound.size === 0) return sound
      sound = sound.filter((work) => !unsound.has(work))
      for (const work of unsound) this.#commits.dropped(work)
      const partitions = new Set(
        [...unsound].map(({ partition }) => partition).filter(({ hasEnded }) => !hasEnded),
      )
      if (partitions.size > 0) await this.#commits.overtaken([...partitions], false)
    }
  }
}

function isSound({ partition, cell }: Work): boolean {
  return !partition.hasEnded && cell?.isInvalid !== true
}

type Change = NonNullable<Work['change']>

/** The last change of each key: later ones were built on earlier ones. */
function latestChanges(works: readonly Work[]): Change[] {
  const latest = new Map<Cell, Change>()
  for (const { change } of works) if (change !== undefined) latest.set(change.cell, change)
  return [...latest.values()]
}

function stateChange({ cell, value }: Change): StateChange {
  return { key: cell.key, value, version: cell.version }
}

function ledgerChange({ topic, partition, epoch, tracker }: Partition): LedgerChange {
  return {
    topic,
    partition,
    epoch: epoch ?? 0,
    next: tracker.position,
    settled: tracker.settledAbove(),
  }
}
