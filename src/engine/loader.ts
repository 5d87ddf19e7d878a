import type { Message } from '../message.ts'
import type { Loaded, Mark } from '../ports/store.ts'
import type { Service } from '../service.ts'
import { markOfHeader, markOfText } from './identity.ts'
import { decodeMessage } from './message.ts'
import type { Cell, Effects, Work } from './partition.ts'
import type { StateCells } from './state-cells.ts'

// As many as a poll brings; more would hold the first one back.
const largestLoad = 1_000

type Marked = Work & { readonly effects: Effects }

/** What the loader needs of its surroundings. */
export interface LoaderParts {
  readonly service: Service
  readonly cells: StateCells
  /** `Store.load`, repeated while the store cannot be reached. */
  load(keys: readonly Buffer[], marks: readonly Pick<Mark, 'topic' | 'id'>[]): Promise<Loaded>
  /** Some may start now. */
  loaded(): void
  /** One that was held back, as its state had to be read anew, may start now. */
  resume(work: Work): void
  /** The event carries no id, so its record counts. */
  idMissing(): void
  broken(error: unknown): void
}

/**
 * Reads what the store knows of fetched messages before they start: whether their events were applied, and their keys'
 * states. One read is under way at a time and takes all that was fetched meanwhile.
 */
export class Loader {
  readonly #parts: LoaderParts
  #waiting: Work[] = []
  readonly #held = new Set<Work>()
  #isLoading = false

  constructor(parts: LoaderParts) {
    this.#parts = parts
  }

  add(work: Work): void {
    this.#waiting.push(work)
    if (this.#isLoading) return
    this.#isLoading = true
    // The rest of the same poll comes in this turn.
    queueMicrotask(() => void this.#loadAll())
  }

  /** Loads one again that has taken its turn already and is held back: its state was built on dropped work. */
  again(work: Work): void {
    this.#held.add(work)
    this.giveBack(work)
    this.add(work)
  }

  /** Ends a message's use of its cell. */
  giveBack({ effects }: Work): void {
    if (effects?.cell === undefined) return
    this.#parts.cells.release(effects.cell)
    effects.cell = undefined
  }

  async #loadAll(): Promise<void> {
    try {
      while (this.#waiting.length > 0) await this.#loadSome(this.#waiting.splice(0, largestLoad))
      this.#isLoading = false
    } catch (error) {
      this.#parts.broken(error)
    }
  }

  async #loadSome(given: readonly Work[]): Promise<void> {
    // Those of closed partitions are forgotten already, and nobody would give their cells back.
    const works = given.filter((work): work is Marked => !work.partition.isClosed)
    const late = this.#prepareAll(works)
    if (late !== undefined) await late
    const open = works.filter(({ partition }) => !partition.isClosed)
    const cells: Cell[] = []
    for (const work of open) this.#takeCell(work, cells)
    const marked = open.filter(({ effects }) => effects.mark !== undefined && !effects.isApplied)
    if (cells.length > 0 || marked.length > 0) await this.#read(cells, marked)
    for (const { effects } of open) effects.isLoaded = true
    for (const work of given) if (this.#held.delete(work)) this.#parts.resume(work)
    this.#parts.loaded()
  }

  async #read(cells: readonly Cell[], marked: readonly Marked[]): Promise<void> {
    const { states, applied } = await this.#parts.load(
      cells.map(({ key }) => key),
      marked.map(({ partition, effects }) => {
        return { topic: partition.topic, id: effects.mark as Buffer }
      }),
    )
    cells.forEach((cell, index) => {
      const row = states[index]
      cell.value = row?.value ?? null
      cell.guard = row?.guard ?? null
      cell.version = row?.version ?? 0
    })
    marked.forEach(({ effects }, index) => {
      effects.isApplied = applied[index] === true
    })
  }

  #takeCell(work: Marked, fresh: Cell[]): void {
    const { raw, effects } = work
    const { service, cells } = this.#parts
    const isNeeded = service.state !== undefined || service.idempotency?.by === 'version'
    if (!isNeeded || raw.key === null || effects.cell !== undefined) return
    // Its lane goes by the same text: one that is made once is hashed once.
    const name = typeof work.laneKey === 'string' ? work.laneKey : raw.key.toString('latin1')
    work.laneKey = name
    const { cell, isNew } = cells.take(name, raw.key)
    effects.cell = cell
    if (isNew) fresh.push(cell)
  }

  /** Finds out the events' ids; a promise only where a codec gives one. */
  #prepareAll(works: readonly Marked[]): Promise<unknown> | undefined {
    const rule = this.#parts.service.idempotency
    if (rule?.by !== 'event-id') return undefined
    const late: Promise<void>[] = []
    for (const work of works) {
      if (work.effects.isLoaded) continue
      const preparing = this.#prepare(work, rule.id)
      if (preparing !== undefined) late.push(preparing)
    }
    return late.length === 0 ? undefined : Promise.all(late)
  }

  #prepare(
    work: Marked,
    idOf: ((message: Message) => unknown) | undefined,
  ): Promise<void> | undefined {
    if (idOf === undefined) {
      work.effects.mark = markOfHeader(work.raw)
      if (work.effects.mark === undefined) this.#parts.idMissing()
      return undefined
    }
    try {
      const message = decodeMessage(work.raw, work.partition.definition)
      if (!(message instanceof Promise)) return this.#mark(work, message, idOf)
      return message
        .then((decoded) => this.#mark(work, decoded, idOf))
        .catch((error: unknown) => {
          work.effects.trouble = error
        })
    } catch (error) {
      // It fails when its turn comes.
      work.effects.trouble = error
      return undefined
    }
  }

  #mark(work: Marked, message: Message, idOf: (message: Message) => unknown): undefined {
    work.effects.message = message
    work.effects.mark = markOfText(idOf(message), work)
    if (work.effects.mark === undefined) this.#parts.idMissing()
  }
}
