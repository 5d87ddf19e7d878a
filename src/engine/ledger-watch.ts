import type { Clock } from '../ports/clock.ts'
import type { HeldRow } from '../ports/store.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Partition } from './partition.ts'

/** What the watch needs of its surroundings. */
export interface LedgerWatchParts {
  /** Those that are ours now. */
  partitions(): readonly Partition[]
  /** `Store.holds` of this service, tried once. */
  holds(rows: readonly HeldRow[]): Promise<readonly boolean[]>
  readonly groupCommit: Pick<GroupCommit, 'alone'>
  /** The ledger says something else of these: they are to start anew from it. */
  overtaken(partitions: readonly Partition[]): Promise<void>
  broken(error: unknown): void
  readonly clock: Clock
}

// One small read for each service. So long may messages stay undone that a store has lost and nobody asks for.
const interval = 30_000

/**
 * Looks whether the ledger still says what its owner knows. A store that fails over to a replica that was behind has
 * lost commits that it had confirmed. An owner that works on is fenced by the numbers of its next unit; one that is idle
 * would notice nothing until the next message comes.
 */
export class LedgerWatch {
  readonly #parts: LedgerWatchParts
  #cancel: (() => void) | undefined
  #isLooking = false
  #isWanted = false
  #hasStopped = false

  constructor(parts: LedgerWatchParts) {
    this.#parts = parts
  }

  start(): void {
    const { clock } = this.#parts
    // Not all processes at once.
    const wait = interval * (0.75 + clock.random() / 2)
    this.#cancel = clock.after(wait, () => {
      this.look()
      this.start()
    })
  }

  stop(): void {
    this.#hasStopped = true
    this.#cancel?.()
  }

  /** Looks at once; once more when it is looking already, as that may have been too early. */
  look(): void {
    this.#isWanted = true
    if (this.#isLooking) return
    this.#isLooking = true
    void this.#lookAll()
  }

  async #lookAll(): Promise<void> {
    try {
      while (this.#isWanted && !this.#hasStopped) {
        this.#isWanted = false
        const moved = await this.#moved()
        if (moved.length > 0) await this.#tell(moved)
      }
    } catch (error) {
      this.#parts.broken(error)
    } finally {
      this.#isLooking = false
    }
  }

  /** What the ledger does not hold any more, as far as one can tell while units are on their way. */
  async #moved(): Promise<readonly Held[]> {
    const { partitions, holds } = this.#parts
    const asked = partitions().flatMap((owned): Held[] => {
      const { topic, partition, epoch, unit } = owned
      return epoch === undefined ? [] : [{ owned, row: { topic, partition, epoch, unit } }]
    })
    if (asked.length === 0) return []
    try {
      const held = await holds(asked.map(({ row }) => row))
      return asked.filter((_, index) => held[index] === false)
    } catch {
      // It is no part of the work, and comes again.
      return []
    }
  }

  /** A unit that was committed meanwhile explains the difference; one that was refused has told it already. */
  async #tell(moved: readonly Held[]): Promise<void> {
    const { groupCommit, overtaken } = this.#parts
    await groupCommit.alone(async () => {
      const lost = moved
        .filter(({ owned, row }) => !owned.isClosed && owned.unit === row.unit)
        .map(({ owned }) => owned)
      if (lost.length > 0 && !this.#hasStopped) await overtaken(lost)
    })
  }
}

/** A partition, and what its owner believed of its row when it was asked for. */
interface Held {
  readonly owned: Partition
  readonly row: HeldRow
}
