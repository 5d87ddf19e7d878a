import type { Header, Message, RawMessage } from '../message.ts'
import type { OutgoingRecord, Position } from '../ports/broker.ts'
import type { LedgerRow, OffsetRange } from '../ports/store.ts'
import type { AnyTopic } from '../topic.ts'
import type { Claim } from './claims.ts'
import { commitMetadata } from './commit-metadata.ts'
import { OffsetTracker } from './offsets.ts'
import { Queue } from './queue.ts'
import type { Failures } from './verdict.ts'

/** A key (or partition) with a message in work; the later ones wait here in order. */
export interface Lane {
  readonly key: unknown
  readonly busy: Map<unknown, Lane>
  /** Whose turn it is: its handler runs, or it may start, or it is held back. */
  holder: Work
  /** Most lanes have nobody waiting, and there is one for each message: so it is made when the first one comes. */
  waiting: Queue<Work> | undefined
}

/** A key's state between its load and the commit of what was made of it. */
export interface Cell {
  readonly key: Buffer
  /** The key as a text of its bytes. */
  readonly name: string
  /** With the changes of all handlers that have finished, committed or not. */
  value: Buffer | null
  /** The newest event applied to it; see `version-guard.ts`. */
  guard: string | null
  /** The version in the store. */
  version: number
  /** Messages that were loaded with it and are not settled yet. It is forgotten at zero. */
  users: number
  /** Built on work that was dropped: what was made of it must not be committed. */
  isInvalid: boolean
  /** Higher after each time that somebody else's change was found: what was made of an older one is done again. */
  edition: number
}

/** What a message is to the store, and what its handler makes of it. */
export class Effects {
  /** In the order of fetching, over all partitions of the service. */
  readonly turn: number
  /** What the store knows of it was read; it is not started before. */
  isLoaded = false
  /** While it has one, copies of its event wait for what becomes of it. */
  claim: Claim | undefined
  /** Its event's id, where the service goes by ids and the event has one. */
  mark: Buffer | undefined
  /** Its event had its effect already. */
  isApplied = false
  /** Its key's state. */
  cell: Cell | undefined
  /** What its handler made of the cell; undefined when it changed nothing. */
  change: { readonly value: Buffer | null; readonly guard: string | null } | undefined
  /** Decoded before its turn, as its id is a function of it. */
  message: Message | undefined
  /** Why it cannot be handled, as its id could not be told. */
  trouble: unknown
  /** Of its cell, when its handler was called last. */
  #edition: number | undefined

  constructor(turn: number) {
    this.turn = turn
  }

  /** Its handler is called now. */
  begin(): void {
    this.change = undefined
    this.#edition = this.cell?.edition
  }

  /** Somebody else has changed the state that its handler was given. */
  get isOutdated(): boolean {
    return (
      this.cell !== undefined && this.#edition !== undefined && this.#edition !== this.cell.edition
    )
  }

  /** A message whose cell was invalidated has to be loaded again. */
  get isReady(): boolean {
    return this.isLoaded && this.cell?.isInvalid !== true
  }
}

/** How often a message has failed, and since when. */
export interface FailuresOfWork extends Failures {
  /** Milliseconds since 1970. */
  readonly since: number
}

const none: readonly OutgoingRecord[] = []

/** One fetched message on its way through the engine. */
export class Work {
  readonly partition: Partition
  readonly offset: number
  readonly bytes: number
  /** Its place in the partition's tracker. */
  readonly place: number
  /** Undefined when the service uses no store. */
  readonly effects: Effects | undefined
  /** What `lanes.ts` orders it by, once it was asked for. */
  laneKey: unknown
  /** Its place in the order of its key, once it has taken one. */
  lane: Lane | undefined
  /** What its handler returned; or its dead letter. */
  outputs: readonly OutgoingRecord[] = none
  /** It waits in its lane for something other than its turn. */
  isHeld = false
  /** Its handler was called, perhaps in vain. */
  isBegun = false
  /** How often that was in vain; undefined when it never was. */
  failures: FailuresOfWork | undefined
  #raw: RawMessage | undefined

  constructor(raw: RawMessage, partition: Partition, effects?: Effects) {
    this.#raw = raw
    this.partition = partition
    this.offset = raw.offset
    this.bytes = sizeOf(raw)
    this.place = partition.tracker.add(raw.offset)
    this.effects = effects
  }

  /** Its handler is called now, or it is passed over. */
  begin(): void {
    if (!this.isBegun) this.partition.inFlight += 1
    this.isBegun = true
    this.effects?.begin()
  }

  /** The record, as long as its handler has not ended. */
  get raw(): RawMessage {
    if (this.#raw === undefined) throw new Error(`The bytes of ${this} were let go.`)
    return this.#raw
  }

  /**
   * To be called when the handler has ended. While outputs wait for their acknowledgement, the bytes of their input
   * would outlive several rounds of the garbage collector, which costs more than the engine's own work.
   */
  letGoOfBytes(): void {
    this.#raw = undefined
    if (this.effects !== undefined) this.effects.message = undefined
  }

  toString(): string {
    return `${this.partition}/${this.offset}`
  }
}

/** Outputs of one unit that are stored and not acknowledged yet. */
export interface StoredBatch {
  readonly partition: Partition
  readonly unit: number
  readonly outputs: readonly OutgoingRecord[]
  /** Whose outputs they are; none when a previous owner left them. */
  readonly works: readonly Work[]
  /** The lowest offset among them: the group's position does not pass it before they are acknowledged. */
  readonly lowest: number
  readonly bytes: number
}

// Node's own cost of the objects around a record's bytes, roughly.
const overhead = 200

function sizeOf({ key, value, headers }: RawMessage): number {
  const size = overhead + (key?.length ?? 0) + (value?.length ?? 0)
  return headers.length === 0 ? size : size + sizeOfHeaders(headers)
}

function sizeOfHeaders(headers: readonly Header[]): number {
  return headers.reduce(
    (sum, { name, value }) => sum + name.length + (value?.length ?? 0) + overhead,
    0,
  )
}

/**
 * One partition for the time it is assigned to us. When it comes back later it is another object: work that still
 * points to an ended one is dropped wherever it is noticed, so nothing of an older assignment is ever written.
 */
export class Partition {
  readonly topic: string
  readonly partition: number
  /** The declared topic with its codecs. */
  readonly definition: AnyTopic
  readonly tracker: OffsetTracker
  /** Lanes of this partition that are busy; services with state use one map for all partitions instead. */
  readonly lanes: Map<unknown, Lane> = new Map()
  /** Fetched, not started. */
  readonly queue: Queue<Work> = new Queue()
  /** Tells it from partitions of other topics, those of the same name included. */
  readonly identity: string
  /** The store's fence; undefined without a store. */
  readonly epoch: number | undefined
  /** Where this owner's work began. */
  readonly start: number
  /** The number of the last unit that changed its row in the ledger. */
  unit: number
  /** The broker has refused a stored output for good: those behind it must not overtake it. */
  isStuck = false
  /** Stored and not acknowledged, oldest first. */
  readonly unpublished: StoredBatch[] = []
  /** Outputs of this unit and of all earlier ones are acknowledged, and the store still has them. */
  acknowledged: number | undefined
  /** Above the start, already settled by a previous owner. */
  readonly settledBefore: readonly OffsetRange[]
  /** Their lane is theirs now; not started yet. */
  readonly released: Queue<Work> = new Queue()
  /** Fetched and not settled: messages and their bytes. */
  buffered = 0
  bufferedBytes = 0
  /** Taken out of the queue, waiting for an earlier message of their lane. */
  blocked = 0
  /** Started and neither settled nor given up. */
  inFlight = 0
  /** Its handlers were told to give up, and those that did not are not waited for. */
  isLeftBehind = false
  isPaused = false
  /** Since when it has filled its share of the buffer. */
  fullSince: number | undefined
  /** Held until they are tried again, each with what ends its wait. */
  readonly held: Map<Work, () => void> = new Map()
  /** Everything before it has had its effects: in the store, or without one by its outputs. */
  done: number
  /** The position the group has; undefined when it has none. */
  committed: number | undefined
  /** Why it stopped. */
  failure: unknown
  readonly #abort = new AbortController()
  readonly #closing = new AbortController()
  #hasEnded = false
  #waiters: (() => void)[] = []
  /** Told of each message that waited for its turn and will not have it: it will be delivered again. */
  forgotten: (work: Work) => void = () => {}

  constructor(
    definition: AnyTopic,
    partition: number,
    start: number,
    committed: number | undefined,
    topicId: string,
    ledger?: LedgerRow,
  ) {
    this.topic = definition.name
    this.partition = partition
    this.definition = definition
    this.tracker = new OffsetTracker(start, ledger?.settled)
    this.start = start
    this.done = start
    this.committed = committed
    this.identity = `${definition.name}~${topicId.slice(0, 8)}/${partition}`
    this.epoch = ledger?.epoch
    this.unit = ledger?.unit ?? 0
    this.settledBefore = ledger?.settled ?? []
  }

  /** The position that may be committed to the group now: effects are durable, and outputs acknowledged. */
  get durable(): number {
    return this.unpublished.reduce((least, { lowest }) => Math.min(least, lowest), this.done)
  }

  /** As it is committed to the group: with a word of who did, and whether the ledger has work of it. */
  positionAt(offset: number): Position {
    const { topic, partition } = this
    return { topic, partition, offset, metadata: commitMetadata(offset, this.unit > 0) }
  }

  /** Given to handlers. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** No message of it is started any more. */
  get isClosed(): boolean {
    return this.closing.aborted
  }

  /** Aborted when it is closed. Given to handlers: those that only wait end their wait. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** It is somebody else's, or given up: nothing of it may be written. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Starts nothing more; what is queued is forgotten and will be delivered again. */
  close(): void {
    if (!this.isClosed) this.#closing.abort()
    for (let work = this.queue.shift(); work !== undefined; work = this.queue.shift())
      this.forgotten(work)
    for (const endWait of [...this.held.values()]) endWait()
    if (this.inFlight === 0) this.#wake()
  }

  /** Tells running handlers to give up. */
  abort(): void {
    if (!this.signal.aborted) this.#abort.abort()
  }

  /** Drops everything at once. */
  end(): void {
    this.#hasEnded = true
    this.close()
    this.abort()
    this.#wake()
  }

  /** To be called when a started work was settled, failed or dropped. */
  finishOne(): void {
    this.inFlight -= 1
    if (this.inFlight === 0) this.#wake()
  }

  /** Nothing is started, and nothing waits to be started. */
  get isIdle(): boolean {
    return this.inFlight === 0 && (this.isClosed || (this.queue.size === 0 && this.blocked === 0))
  }

  /** Resolves when it is idle, or has ended. */
  async whenIdle(): Promise<void> {
    while (!this.#hasEnded && !this.isIdle) {
      await new Promise<void>((resolve) => this.#waiters.push(resolve))
    }
  }

  #wake(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  toString(): string {
    return `${this.topic}/${this.partition}`
  }
}
