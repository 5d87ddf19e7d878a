import type { Order } from '../service-options.ts'
import type { Lane, Partition, Work } from './partition.ts'
import { Queue } from './queue.ts'

/**
 * Decides which message may start next: in order within a lane, and turn by turn between partitions, so that one
 * with a long backlog does not starve the others.
 */
export class Lanes {
  readonly #order: Order
  /** One map for all partitions where lanes share state; otherwise each partition has its own. */
  readonly #shared: Map<unknown, Lane> | undefined
  #partitions: Partition[] = []
  #turn = 0

  constructor(order: Order, sharesLanes: boolean) {
    this.#order = order
    this.#shared = sharesLanes ? new Map() : undefined
  }

  add(partition: Partition): void {
    this.#partitions.push(partition)
  }

  /** The partition has ended; what waits behind its messages in a shared lane may go on. */
  remove(partition: Partition): void {
    this.#partitions = this.#partitions.filter((other) => other !== partition)
    this.#turn = 0
    this.#passOver(partition)
  }

  /** Takes the next message that may start; undefined when there is none now. */
  next(): Work | undefined {
    const { length } = this.#partitions
    for (let tried = 0; tried < length; tried += 1) {
      const partition = this.#partitions[this.#turn]
      this.#turn = this.#turn + 1 < length ? this.#turn + 1 : 0
      const work = partition && this.nextOf(partition)
      if (work !== undefined) return work
    }
    return undefined
  }

  /** The same for one partition. A message that has waited for its lane goes before those that have not been looked at. */
  nextOf(partition: Partition): Work | undefined {
    if (partition.isClosed) this.#passOver(partition)
    const released = partition.released.shift()
    if (released !== undefined) return this.#firstOf(released)
    for (let work = partition.queue.first; work !== undefined; work = partition.queue.first) {
      // What the store knows of it is being read; later ones wait with it, or they would overtake.
      if (work.effects?.isLoaded === false) return undefined
      partition.queue.shift()
      if (!this.#mustWait(work)) return work
    }
    return undefined
  }

  /** The holder of a lane may start, unless an earlier one has come back since: then that one goes first. */
  #firstOf(holder: Work): Work {
    const { lane } = holder
    const first = lane && this.#firstWaiting(lane)
    if (lane === undefined || first === undefined || turnOf(first) > turnOf(holder)) {
      holder.partition.blocked -= 1
      return holder
    }
    lane.waiting?.shift()
    this.#insert(lane, holder)
    this.#give(lane, first)
    first.partition.blocked -= 1
    return first
  }

  #passOver({ released }: Partition): void {
    for (let work = released.shift(); work !== undefined; work = released.shift()) {
      work.partition.blocked -= 1
      this.leave(work)
      work.partition.forgotten(work)
    }
  }

  #mustWait(work: Work): boolean {
    if (this.#order === 'none') return false
    const busy = this.#lanesOf(work.partition)
    // Handlers that return at once leave no lane behind: then nobody needs to look at the key.
    const lane = busy.size === 0 ? undefined : busy.get(this.keyOf(work))
    if (lane === undefined) return false
    lane.waiting ??= new Queue()
    lane.waiting.push(work)
    work.partition.blocked += 1
    return true
  }

  /** Takes back a message that `next` gave and that cannot start yet. It keeps its place: later ones of its lane wait. */
  hold(work: Work): void {
    this.enter(work)
    work.partition.blocked += 1
    work.isHeld = true
  }

  /** A message that was held may start. */
  resume(work: Work): void {
    if (!work.isHeld) return
    work.isHeld = false
    this.#release(work)
  }

  #release(work: Work): void {
    work.partition.released.push(work)
    // One that has ended meanwhile is not asked for its next message any more, and others may wait behind this one.
    if (work.partition.isClosed) this.#passOver(work.partition)
  }

  /**
   * Takes back a message whose handler has ended in vain: it goes before all later ones of its lane, those that have been
   * waiting included.
   */
  again(work: Work): void {
    work.partition.blocked += 1
    if (work.lane !== undefined) {
      const { lane } = work
      this.#insert(lane, work)
      return this.#pass(lane)
    }
    const lane = this.#lanesOf(work.partition).get(this.keyOf(work))
    if (lane === undefined) {
      this.enter(work)
      return this.#release(work)
    }
    this.#insert(lane, work)
    // What it is held for may be the very message that has come back: it has to let that one pass.
    if (turnOf(work) < turnOf(lane.holder)) this.resume(lane.holder)
  }

  /** Holds up later messages of the lane until `leave`. To be called for a message whose handler has not returned. */
  enter(work: Work): void {
    if (this.#order === 'none' || work.lane !== undefined) return
    const busy = this.#lanesOf(work.partition)
    work.lane = { key: this.keyOf(work), busy, holder: work, waiting: undefined }
    busy.set(work.lane.key, work.lane)
  }

  /** Lets the next message of the lane start. */
  leave(work: Work): void {
    const { lane } = work
    if (lane === undefined) return
    work.lane = undefined
    this.#pass(lane)
  }

  #pass(lane: Lane): void {
    const next = this.#firstWaiting(lane)
    if (next === undefined) {
      lane.busy.delete(lane.key)
      return
    }
    lane.waiting?.shift()
    this.#give(lane, next)
    next.partition.released.push(next)
  }

  /** Those of closed partitions do not start any more: one in the middle would overtake those that have been forgotten. */
  #firstWaiting({ waiting }: Lane): Work | undefined {
    for (let first = waiting?.first; first !== undefined; first = waiting?.first) {
      if (!first.partition.isClosed) return first
      waiting?.shift()
      first.partition.blocked -= 1
      first.partition.forgotten(first)
    }
    return undefined
  }

  #give(lane: Lane, work: Work): void {
    lane.holder = work
    work.lane = lane
  }

  /** Among those that wait, in the order of fetching. */
  #insert(lane: Lane, work: Work): void {
    work.lane = undefined
    const waiting = new Queue<Work>()
    let isIn = false
    for (let one = lane.waiting?.shift(); one !== undefined; one = lane.waiting?.shift()) {
      if (!isIn && turnOf(one) > turnOf(work)) {
        waiting.push(work)
        isIn = true
      }
      waiting.push(one)
    }
    if (!isIn) waiting.push(work)
    lane.waiting = waiting
  }

  #lanesOf(partition: Partition): Map<unknown, Lane> {
    return this.#shared ?? partition.lanes
  }

  /** Records without a key follow the order of their partition. */
  keyOf(work: Work): unknown {
    // Kept, as it is asked for twice and a new text would be hashed anew.
    work.laneKey ??=
      this.#order === 'key' && work.raw.key !== null
        ? work.raw.key.toString('latin1')
        : work.partition
    return work.laneKey
  }
}

function turnOf({ effects, offset }: Work): number {
  return effects?.turn ?? offset
}
