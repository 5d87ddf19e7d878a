import { RetryableError } from '../../handler-errors.ts'
import type { Logger } from '../../ports/logger.ts'
import type { RetryOverride } from '../../retry.ts'
import type { GateDatabase, GateTable } from './table.ts'

/** For facts that would begin a gate while as many wait as may. */
class NoRoomError extends RetryableError {}

/** Such facts are no failures: they wait for as long as it takes, which is weeks here. */
export const waitForRoom: RetryOverride = {
  on: NoRoomError,
  attempts: 1_000_000,
  backoff: { base: '1s', max: '10s' },
}

// Each fact that waits has come again within that time, in milliseconds.
const quiet = 15_000

// How long a count holds, in milliseconds. What this process begins and ends meanwhile is added to it.
const countHolds = 1_000

/** How many gates wait, and how many may. */
export class Room {
  readonly #table: GateTable
  readonly #most: number
  #open = 0
  #countedAt: number | undefined
  /** When the last one was refused; undefined since that is long ago. */
  #refusedAt: number | undefined

  constructor(table: GateTable, most: number) {
    this.#table = table
    this.#most = most
  }

  /** Roughly: other processes have begun and ended some since the last count. */
  get open(): number {
    return Math.max(0, this.#open)
  }

  /** Notes what has become of a gate, by the name that it is counted under. */
  note(name: string): void {
    if (name === 'begun') this.#open += 1
    if (name === 'opened' || name === 'expired') this.#open -= 1
  }

  /** The keys that have no gate, and get none now. */
  async refused(
    db: GateDatabase,
    keys: readonly string[],
    { now, log }: { readonly now: number; readonly log: Logger },
  ): Promise<ReadonlySet<string>> {
    const isOld = this.#countedAt === undefined || Math.abs(now - this.#countedAt) >= countHolds
    if (isOld) {
      this.#open = await this.#table.countOpen(db, this.#most)
      this.#countedAt = now
    }
    const free = Math.max(0, this.#most - this.#open)
    const refused = free >= keys.length ? [] : (await this.#table.unknownOf(db, keys)).slice(free)
    this.#tell(refused.length > 0, now, log)
    return new Set(refused)
  }

  /** One line when facts begin to wait. One when none does any more, and not with each gate that makes room for one. */
  #tell(isRefusing: boolean, now: number, log: Logger): void {
    const fields = { open: this.open, maxOpen: this.#most }
    if (isRefusing && this.#refusedAt === undefined)
      log.warn(
        fields,
        'as many gates wait as maxOpen allows: facts of other keys wait until there is room',
      )
    if (isRefusing) {
      this.#refusedAt = now
    } else if (this.#refusedAt !== undefined && now - this.#refusedAt > quiet) {
      this.#refusedAt = undefined
      log.info(fields, 'there is room for new gates again')
    }
  }

  /** What a fact of a refused key fails with, to come again. */
  get error(): Error {
    return new NoRoomError('As many gates wait as maxOpen allows.', { after: countHolds })
  }
}
