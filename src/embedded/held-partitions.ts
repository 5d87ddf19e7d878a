import type { AssignedPartition, Position, TopicPartition } from '../ports/broker.ts'
import { type Cursor, rotate } from './fetch-records.ts'
import { partitionKey } from './partition-key.ts'

/** A partition that a member holds. A new assignment makes a new object, so an old one can be told apart. */
export interface HeldPartition extends Cursor {
  /** `assigning` until the listener has answered, `leaving` once it is wanted back; neither delivers. */
  phase: 'assigning' | 'reading' | 'leaving'
  isPaused: boolean
}

/** What a member holds, with its reading positions. */
export class HeldPartitions {
  readonly #held = new Map<string, HeldPartition>()
  #order: HeldPartition[] = []

  add(partitions: readonly AssignedPartition[]): readonly HeldPartition[] {
    const added = partitions.map(({ topic, partition, start }): HeldPartition => {
      return { topic, partition, position: start, phase: 'assigning', isPaused: false }
    })
    for (const one of added) this.#held.set(partitionKey(one), one)
    this.#order.push(...added)
    return added
  }

  all(): readonly HeldPartition[] {
    return [...this.#held.values()]
  }

  /** Those that may deliver now; the next call starts with another one. */
  readable(): readonly HeldPartition[] {
    rotate(this.#order)
    return this.#order.filter(({ phase, isPaused }) => phase === 'reading' && !isPaused)
  }

  /** The held ones of these. */
  find(partitions: readonly TopicPartition[]): readonly HeldPartition[] {
    return partitions.flatMap((partition) => this.#held.get(partitionKey(partition)) ?? [])
  }

  move(positions: readonly Position[]): void {
    for (const position of positions) {
      const held = this.#held.get(partitionKey(position))
      if (held !== undefined) held.position = position.offset
    }
  }

  has(partition: HeldPartition): boolean {
    return this.#held.get(partitionKey(partition)) === partition
  }

  /** Lets go of these objects; those of a later assignment stay. */
  remove(partitions: readonly HeldPartition[]): void {
    for (const partition of partitions) {
      if (this.has(partition)) this.#held.delete(partitionKey(partition))
    }
    this.#order = [...this.#held.values()]
  }
}

/** Only what names them. */
export function names(partitions: readonly TopicPartition[]): TopicPartition[] {
  return partitions.map(({ topic, partition }) => ({ topic, partition }))
}
