import type { Position, TopicPartition } from '../ports/broker.ts'
import type { DriverPosition } from './driver.ts'

/** A partition that a member has. A partition that was given up and comes back is another holding. */
export interface Holding extends TopicPartition {
  /** `coming`: assigned, and the owner has not answered yet. `going`: wanted back, and not given up yet. */
  phase: 'coming' | 'ours' | 'going'
  isPaused: boolean
  /** Where to begin, when the owner sought before reading began. */
  seekTo: number | undefined
}

/** The partitions of a member. */
export class Holdings {
  readonly #byTopic = new Map<string, Map<number, Holding>>()

  get({ topic, partition }: TopicPartition): Holding | undefined {
    return this.#byTopic.get(topic)?.get(partition)
  }

  /** Those that are ours, of the ones asked for. */
  of(partitions: readonly TopicPartition[]): Holding[] {
    return partitions.flatMap((one) => this.get(one) ?? [])
  }

  all(): Holding[] {
    return [...this.#byTopic.values()].flatMap((byPartition) => [...byPartition.values()])
  }

  get count(): number {
    let count = 0
    for (const byPartition of this.#byTopic.values()) count += byPartition.size
    return count
  }

  add(partitions: readonly TopicPartition[]): Holding[] {
    return partitions.map(({ topic, partition }) => {
      const holding: Holding = {
        topic,
        partition,
        phase: 'coming',
        isPaused: false,
        seekTo: undefined,
      }
      const byPartition = this.#byTopic.get(topic) ?? new Map<number, Holding>()
      this.#byTopic.set(topic, byPartition.set(partition, holding))
      return holding
    })
  }

  remove(partitions: readonly TopicPartition[]): void {
    for (const { topic, partition } of partitions) this.#byTopic.get(topic)?.delete(partition)
  }
}

/** A position to commit, as the driver takes it. */
export function committable({ topic, partition, offset, metadata }: Position): DriverPosition {
  return { topic, partition, offset, ...(metadata === undefined ? {} : { metadata }) }
}

/** A partition without anything else; the driver and listeners get no more than that. */
export function bare({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition }
}
