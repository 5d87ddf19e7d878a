import { PolluxError } from '../errors.ts'
import type { CommitResult, Store, Unit } from '../ports/store.ts'
import type { LoaderParts } from './loader.ts'
import type { Partition, Work } from './partition.ts'
import { doubtsOf, reconcile, restore } from './reconcile.ts'
import {
  type BuiltUnit,
  buildOwnUnit,
  buildUnit,
  bytesOf,
  type OwnWork,
  type UnitPart,
} from './unit.ts'

/** What becomes of finished work. None may throw. */
export interface Commits {
  /** The effects of these messages of one partition are durable. */
  stored(part: UnitPart): void
  /** It was dropped before its effects were stored; nothing built on its change may be stored either. */
  dropped(work: Work): void
  /** Somebody else has changed the state that their handlers were given: they are to be handled again. */
  again(works: readonly Work[]): void
  /** Somebody else has moved what this work was built on: these partitions have to start anew from their ledger. */
  overtaken(partitions: readonly Partition[], isFenced: boolean): Promise<void>
  /** The store has refused for good. */
  broken(error: unknown): void
}

// More does not get faster, and holds the first message's commit back.
const largestUnit = 1_000
// Of outputs that are stored with it.
const largestUnitBytes = 4 * 1024 ** 2

export interface GroupCommitParts {
  readonly service: string
  /** How many messages the store takes at once; undefined: any number. */
  readonly largestUnit: number | undefined
  /** `Store.commit`, repeated while the store cannot be reached. */
  readonly commit: Store['commit']
  /** Outputs are stored in the unit, to be published after it. */
  readonly storesOutputs: boolean
  /** Resolves when so little is stored and not published that more may be added. */
  room(): Promise<void> | undefined
  /**
   * `Store.load`, repeated while the store cannot be reached: finds out why a unit was refused. Undefined when messages
   * that were handled later may not have come here yet, so that handling some again would change the order.
   */
  readonly load: LoaderParts['load'] | undefined
  /**
   * Makes a dead letter the only output of a message that the store does not take; the result tells of it. Undefined where
   * messages are not given up.
   */
  giveUp?(work: Work, error: PolluxError): (() => void) | undefined
  readonly commits: Commits
}

/**
 * Stores the effects of finished messages. One transaction is under way at a time and takes all that has finished
 * since the last one began: the latency of one transaction under light load, the throughput of a batch under heavy
 * load, and nothing to tune.
 */
export class GroupCommit {
  readonly #parts: GroupCommitParts
  #finished: Work[] = []
  #isCommitting = false
  /** How many messages the next unit has at most: fewer after one that the store has refused. */
  #most: number
  #alone: Promise<void> | undefined

  constructor(parts: GroupCommitParts) {
    this.#parts = parts
    this.#most = Math.min(largestUnit, parts.largestUnit ?? largestUnit)
  }

  add(work: Work): void {
    this.#finished.push(work)
    if (this.#isCommitting) return
    this.#isCommitting = true
    // What finishes in the same turn shares the first unit.
    queueMicrotask(() => void this.#commitAll())
  }

  async #commitAll(): Promise<void> {
    const { room, commits } = this.#parts
    try {
      while (this.#finished.length > 0) {
        const waiting = room()
        if (waiting !== undefined) await waiting
        await this.alone(() => this.#commitUnit(this.#next()))
      }
      this.#isCommitting = false
    } catch (error) {
      commits.broken(error)
    }
  }

  /**
   * Does this while no unit is on its way, and lets none begin before it is over: what is said of partitions meanwhile
   * stays true, and they do not start anew twice at once.
   */
  async alone<T>(action: () => Promise<T>): Promise<T> {
    while (this.#alone !== undefined) await this.#alone
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#alone = promise
    try {
      return await action()
    } finally {
      this.#alone = undefined
      resolve()
    }
  }

  #next(): Work[] {
    const most = Math.min(this.#most, this.#finished.length)
    let length = 0
    let bytes = 0
    while (length < most && bytes < largestUnitBytes) {
      if (this.#parts.storesOutputs) bytes += bytesOf(this.#finished[length]?.outputs ?? [])
      length += 1
    }
    return this.#finished.splice(0, length)
  }

  async #commitUnit(finished: readonly Work[]): Promise<void> {
    const works = await this.#sound(finished)
    if (works.length === 0) return
    const built = this.#build(works)
    try {
      await this.#commitOrSendBack(built, works)
    } catch (error) {
      if (!PolluxError.is(error, 'POLLUX_STORE_FAILED')) throw error
      return await this.#isolate(works, error)
    }
    const all = Math.min(largestUnit, this.#parts.largestUnit ?? largestUnit)
    this.#most = Math.min(all, this.#most * 2)
  }

  async #commitOrSendBack(built: BuiltUnit, works: readonly Work[]): Promise<void> {
    const result = await this.#parts.commit(built.unit)
    if (result.outcome === 'committed') return this.#advance(built, result.versions)
    if (result.outcome === 'conflict' && (await this.#sendBack(built, works))) return
    await this.#giveUp(built, result.outcome === 'fenced')
  }

  /**
   * The store has refused a unit for good and does not say for which message. Halves of it are tried, those of a lane still
   * one after the other, until the message at fault stands alone.
   */
  async #isolate(works: readonly Work[], error: PolluxError): Promise<void> {
    const [first] = works
    if (first === undefined || this.#parts.giveUp === undefined) throw error
    for (const { partition, place } of works) partition.tracker.withdraw(place)
    if (works.length === 1) return await this.#refused(first, error)
    this.#finished.unshift(...works)
    this.#most = Math.ceil(works.length / 2)
  }

  /** A message alone is refused: it becomes a dead letter without effects. When that is refused, too, the store is at fault. */
  async #refused(work: Work, error: PolluxError): Promise<void> {
    const { giveUp, load } = this.#parts
    const tell = giveUp?.(work, error)
    if (tell === undefined || load === undefined) throw error
    const { cell } = work.effects ?? {}
    if (work.effects !== undefined) work.effects.change = undefined
    await this.#commitOrSendBack(this.#build([work]), [work])
    tell()
    if (cell === undefined) return
    const { states } = await load([cell.key], [])
    // What later messages of its key have made of its change is made again.
    restore(cell, states[0])
    const outdated = this.#finished.filter(isOutdated)
    this.#finished = this.#finished.filter((one) => !isOutdated(one))
    this.#parts.commits.again(outdated)
  }

  /**
   * After somebody else's change: what was built on it is handled again, the rest is committed by the next unit. False
   * when that cannot be told apart.
   */
  async #sendBack(built: BuiltUnit, works: readonly Work[]): Promise<boolean> {
    const { load, commits } = this.#parts
    if (load === undefined) return false
    const { keys, marks } = doubtsOf(built)
    const loaded = await load(keys, marks)
    // From here on nothing may come in between: all messages of a lane that are to be handled again have to be back
    // in it before one of them, or a later one, starts.
    if (!reconcile(built, loaded)) return false
    for (const work of works) work.partition.tracker.withdraw(work.place)
    const waiting = [...works, ...this.#finished]
    this.#finished = waiting.filter((work) => !isOutdated(work))
    commits.again(waiting.filter(isOutdated))
    return true
  }

  /**
   * One unit of messages whose handlers have written in the store themselves, by a transaction's `commit`: it is
   * committed as it is, or all of it is done again. Rejects only when the store does.
   */
  async commitWhole(
    works: readonly Work[],
    commit: (unit: Unit) => Promise<CommitResult>,
  ): Promise<void> {
    await this.#commitBuilt(() => this.#build(works), commit)
  }

  /** The same for what was done for a partition by itself. */
  async commitOwn(own: OwnWork, commit: (unit: Unit) => Promise<CommitResult>): Promise<void> {
    await this.#commitBuilt(() => buildOwnUnit(this.#parts.service, own), commit)
  }

  async #commitBuilt(
    build: () => BuiltUnit,
    commit: (unit: Unit) => Promise<CommitResult>,
  ): Promise<void> {
    await this.alone(async () => {
      const built = build()
      const result = await commit(built.unit)
      if (result.outcome === 'committed') return this.#advance(built, result.versions)
      await this.#giveUp(built, result.outcome === 'fenced')
    })
  }

  #build(works: readonly Work[]): BuiltUnit {
    return buildUnit(this.#parts.service, works, this.#parts.storesOutputs)
  }

  async #giveUp({ parts }: BuiltUnit, isFenced: boolean): Promise<void> {
    const { commits } = this.#parts
    for (const { works } of parts) for (const work of works) commits.dropped(work)
    await commits.overtaken(
      parts.map(({ partition }) => partition),
      isFenced,
    )
  }

  #advance({ unit, parts, cells }: BuiltUnit, versions: readonly number[]): void {
    cells.forEach((cell, index) => {
      cell.version = versions[index] ?? cell.version
    })
    parts.forEach(({ partition }, index) => {
      // There is one for each part, or none at all without fencing.
      const change = unit.ledger[index]
      partition.tracker.confirm()
      partition.done = change?.next ?? partition.tracker.position
      if (change === undefined) return
      partition.unit += 1
      // Meanwhile more may have been acknowledged, which the store does not know yet.
      if (partition.acknowledged === change.acknowledged) partition.acknowledged = undefined
    })
    for (const part of parts) this.#parts.commits.stored(part)
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
      for (const work of unsound) this.#parts.commits.dropped(work)
      const partitions = new Set(
        [...unsound].map(({ partition }) => partition).filter(({ hasEnded }) => !hasEnded),
      )
      if (partitions.size > 0) await this.#parts.commits.overtaken([...partitions], false)
    }
  }
}

function isOutdated({ effects }: Work): boolean {
  return effects?.isOutdated === true
}

function isSound({ partition, effects }: Work): boolean {
  return !partition.hasEnded && effects?.cell?.isInvalid !== true
}
