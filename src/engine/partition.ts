import type { Header, RawMessage } from '../message.ts'
import type { LedgerRow, OffsetRange } from '../ports/store.ts'
import type { AnyTopic } from '../topic.ts'
import { OffsetTracker } from './offsets.ts'
import { Queue } from './queue.ts'

/** A key (or partition) with a message in work; the later ones wait here in order. */
export interface Lane {
  readonly key: unknown
  readonly busy: Map<unknown, Lane>
  /** Most lanes have nobody waiting, and there is one for each message: so it is made when the first one comes. */
  waiting: Queue<Work> | undefined
}

/** A key's state between its load and the commit of what was made of it. */
export interface Cell {
  readonly key: Buffer
  /** With the changes of all handlers that have finished, committed or not. */
  value: Buffer | null
  /** The version in the store. */
  version: number
  /** Attempts that hold it or wait for it, and changes not committed yet. It is forgotten at zero. */
  users: number
  /** Built on work that was dropped: what was made of it must not be committed. */
  isInvalid: boolean
}

/** One fetched message on its way through the engine. */
export class Work {
  readonly partition: Partition
  readonly offset: number
  readonly bytes: number
  /** Its place in the partition's tracker. */
  readonly place: number
  /** What `lanes.ts` orders it by, once it was asked for. */
  laneKey: unknown
  /** Its place in the order of its key, once it has taken one. */
  lane: Lane | undefined
  /** Its key's state, when its handler used it: what was read there must not be dropped before this is stored. */
  cell: Cell | undefined
  /** What its handler made of its key's state; undefined when it changed nothing. */
  change: { readonly cell: Cell; readonly value: Buffer | null } | undefined
  #raw: RawMessage | undefined

  constructor(raw: RawMessage, partition: Partition) {
    this.#raw = raw
    this.partition = partition
    this.offset = raw.offset
    this.bytes = sizeOf(raw)
    this.place = partition.tracker.add(raw.offset)
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
  }

  toString(): string {
    return `${this.partition}/${this.offset}`
  }
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
  /** The store's fence; undefined without a store. */
  readonly epoch: number | undefined
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
  /** The position that may be committed now: its effects are durable and its outputs acknowledged. */
  durable: number
  /** The position the group has; undefined when it has none. */
  committed: number | undefined
  /** Why it stopped. */
  failure: unknown
  readonly #abort = new AbortController()
  #isClosed = false
  #hasEnded = false
  #waiters: (() => void)[] = []

  constructor(
    definition: AnyTopic,
    partition: number,
    start: number,
    committed: number | undefined,
    ledger?: LedgerRow,
  ) {
    this.topic = definition.name
    this.partition = partition
    this.definition = definition
    this.tracker = new OffsetTracker(start, ledger?.settled)
    this.durable = start
    this.committed = committed
    this.epoch = ledger?.epoch
    this.settledBefore = ledger?.settled ?? []
  }

  /** Given to handlers. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** No message of it is started any more. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** It is somebody else's, or given up: nothing of it may be written. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Starts nothing more; what is queued is forgotten and will be delivered again. */
  close(): void {
    this.#isClosed = true
    this.queue.clear()
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
    return this.inFlight === 0 && (this.#isClosed || (this.queue.size === 0 && this.blocked === 0))
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
