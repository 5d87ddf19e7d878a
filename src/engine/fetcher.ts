import { PolluxError } from '../errors.ts'
import type { RawMessage } from '../message.ts'
import type { GroupMember } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import { isInRanges } from './offsets.ts'
import type { Partition, Work } from './partition.ts'

// More in one go gives the binding and the engine nothing, but delays whatever else waits for the event loop.
const largestPoll = 500

// How long a full buffer may last before partitions are paused: pausing throws away what the client has prefetched. A
// busy database may well take half a second for what is in work; a rebalance waits for the next poll, so not much longer.
const patience = 1_000

// How long a poll waits for the handlers to start what is there. Messages that lie about in memory cost more than those
// the client has prefetched: they outlive the young generation of the garbage collector.
const lookahead = 50

/** What may be fetched and not settled. */
export interface FetchBounds {
  /** Above it, the next poll waits; at most `messages`. */
  readonly inWork: number
  /** Of it, each partition may have only its share, and none may run further ahead of its oldest message. */
  readonly messages: number
  readonly bytes: number
  /** How many a batch takes: before so many wait to be started, polls go on. Default 1. */
  readonly gathered?: number
}

/**
 * Polls without pause, however busy the handlers are, and keeps what is fetched within the bounds. A full buffer that
 * empties soon only delays the next poll; one that stays full pauses partitions, so that polling can go on and the
 * membership is kept. Each partition may fill only its share, so that one with a long backlog does not keep the others
 * out.
 */
export class Fetcher {
  readonly #member: GroupMember
  readonly #partitions: () => Iterable<Partition>
  readonly #find: (topic: string, partition: number) => Partition | undefined
  readonly #take: (raw: RawMessage, partition: Partition) => Work
  readonly #accepted: () => void
  readonly #bounds: FetchBounds
  readonly #clock: Clock
  #isAccepting = true
  #hasEnded = false
  #averageBytes = 1_000
  #paused = 0
  /** What the next poll waits for. */
  #awaited: 'start' | 'room' | undefined
  #wake: (() => void) | undefined

  constructor(parts: {
    readonly member: GroupMember
    readonly partitions: () => Iterable<Partition>
    readonly find: (topic: string, partition: number) => Partition | undefined
    /** Makes the work of a record. */
    readonly take: (raw: RawMessage, partition: Partition) => Work
    /** Called after each poll that brought something. */
    readonly accepted: () => void
    readonly bounds: FetchBounds
    readonly clock: Clock
  }) {
    this.#member = parts.member
    this.#partitions = parts.partitions
    this.#find = parts.find
    this.#take = parts.take
    this.#accepted = parts.accepted
    this.#bounds = parts.bounds
    this.#clock = parts.clock
  }

  /** Polls until `end`. Rejects when the member does. */
  async run(): Promise<void> {
    while (!this.#hasEnded) {
      await this.#makeRoom()
      if (this.#hasEnded) return
      const records = await this.#member.poll(this.#room())
      if (records.length > 0 && this.#accept(records)) this.#accepted()
      this.#pauseLasting()
    }
  }

  /** Takes nothing more; polling goes on, as membership hangs on it. */
  close(): void {
    this.#isAccepting = false
    for (const partition of this.#partitions()) this.pause(partition)
    this.#wake?.()
  }

  get isClosed(): boolean {
    return !this.#isAccepting
  }

  /** Ends `run` after its current poll. */
  end(): void {
    this.#hasEnded = true
    this.#wake?.()
  }

  pause(partition: Partition): void {
    if (partition.isPaused) return
    partition.isPaused = true
    this.#paused += 1
    this.#member.pause([partition])
  }

  /** A fetched message is done with, one way or the other. */
  release({ partition, bytes }: Work): void {
    partition.buffered -= 1
    partition.bufferedBytes -= bytes
    if (partition.buffered === 0) partition.fullSince = undefined
    if (this.#awaited !== 'room' && this.#paused === 0) return
    if (this.#fill() >= 0.75) return
    if (this.#awaited === 'room') this.#wake?.()
    if (this.#paused > 0 && this.#isAccepting) this.#resumeLow()
  }

  #accept(records: readonly RawMessage[]): boolean {
    if (!this.#isAccepting) return false
    let partition: Partition | undefined
    let bytes = 0
    for (const raw of records) {
      if (partition?.partition !== raw.partition || partition.topic !== raw.topic) {
        partition = this.#find(raw.topic, raw.partition)
      }
      if (partition === undefined || partition.isClosed) continue
      bytes += this.#acceptOne(raw, partition)
    }
    this.#averageBytes = this.#averageBytes * 0.7 + (bytes / records.length) * 0.3
    return true
  }

  #acceptOne(raw: RawMessage, partition: Partition): number {
    if (raw.offset < partition.tracker.end) throw outOfOrder(raw, partition)
    const { tracker, settledBefore } = partition
    if (settledBefore.length > 0 && isInRanges(raw.offset, settledBefore)) {
      tracker.settle(tracker.add(raw.offset))
      return 0
    }
    const work = this.#take(raw, partition)
    partition.queue.push(work)
    partition.buffered += 1
    partition.bufferedBytes += work.bytes
    return work.bytes
  }

  /** How full the buffer is: 1 is a bound reached. */
  #fill(): number {
    let messages = 0
    let bytes = 0
    for (const partition of this.#partitions()) {
      if (partition.isClosed) continue
      messages += partition.buffered
      bytes += partition.bufferedBytes
    }
    return Math.max(messages / this.#bounds.inWork, bytes / this.#bounds.bytes)
  }

  #room(): number {
    const free = Math.max(0, 1 - this.#fill())
    const byBytes = (free * this.#bounds.bytes) / Math.max(1, this.#averageBytes)
    return Math.max(
      1,
      Math.min(largestPoll, Math.floor(free * this.#bounds.inWork), Math.floor(byBytes)),
    )
  }

  /** All that was fetched is started, so that the next poll need not wait. */
  startedAll(): void {
    if (this.#awaited === 'start') this.#wake?.()
  }

  /** Waits a while for messages to be started, or for a full buffer to empty; pauses everything when it stays full. */
  async #makeRoom(): Promise<void> {
    if (!this.#isAccepting) return
    if (this.#fill() < 1) {
      if (this.#hasStartable(this.#bounds.gathered ?? 1)) await this.#waitFor('start', lookahead)
      return
    }
    await this.#waitFor('room', patience)
    if (this.#fill() >= 1) for (const partition of this.#partitions()) this.pause(partition)
  }

  /** Whether so many wait. While the store is being read for what is queued, the next poll need not wait for handlers. */
  #hasStartable(wanted: number): boolean {
    let count = 0
    for (const { queue } of this.#partitions())
      if (queue.first !== undefined && queue.first.effects?.isLoaded !== false) count += queue.size
    return count >= wanted
  }

  async #waitFor(what: 'start' | 'room', ms: number): Promise<void> {
    this.#awaited = what
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(ms, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
    this.#wake = undefined
    this.#awaited = undefined
  }

  /**
   * Pauses partitions that have filled their share for longer than a moment. This looks right after a poll, when a share
   * may be full for the blink of an eye; a partition that was empty meanwhile starts to count anew.
   */
  #pauseLasting(): void {
    const partitions = [...this.#partitions()]
    const now = this.#clock.now()
    for (const partition of partitions) {
      if (this.#isFarAhead(partition, 1)) this.pause(partition)
      if (partition.isPaused || this.#fillOfShare(partition, partitions.length) < 1)
        partition.fullSince = undefined
      else if (partition.fullSince === undefined) partition.fullSince = now
      else if (now - partition.fullSince >= patience) this.pause(partition)
    }
  }

  /**
   * One message that does not finish must not let the partition run on behind it for ever: all of that would be
   * delivered again after a crash.
   */
  #isFarAhead({ tracker }: Partition, part: number): boolean {
    return tracker.ahead >= this.#bounds.messages * part
  }

  #fillOfShare({ buffered, bufferedBytes }: Partition, partitions: number): number {
    return (
      Math.max(buffered / this.#bounds.messages, bufferedBytes / this.#bounds.bytes) * partitions
    )
  }

  #resumeLow(): void {
    const partitions = [...this.#partitions()]
    // One message at a time is a share, too, when there are more partitions than the buffer has places.
    const low = partitions.filter(
      (partition) =>
        partition.isPaused &&
        !partition.isClosed &&
        !this.#isFarAhead(partition, 0.5) &&
        (partition.buffered === 0 || this.#fillOfShare(partition, partitions.length) < 0.5),
    )
    for (const partition of low) partition.isPaused = false
    if (low.length > 0) this.#member.resume(low)
    this.#paused = partitions.filter(({ isPaused }) => isPaused).length
  }
}

/** Positions count on the order of delivery: a record that comes late may have been passed by a commit already. */
function outOfOrder({ offset }: RawMessage, partition: Partition): PolluxError {
  return new PolluxError(
    'POLLUX_BROKER_REFUSED',
    `The broker's adapter delivered ${partition}/${offset} out of order.`,
    {
      expected: `offset ${partition.tracker.end} or a later one`,
      hint: 'This is a defect of the adapter. The service stops rather than lose a record.',
    },
  )
}
