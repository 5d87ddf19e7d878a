import type {
  BrokerAdmin,
  GroupDescription,
  LogRange,
  NewTopic,
  Position,
  TopicDescription,
} from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import { emptyGroup, stateName } from './group-state.ts'
import type { LogStorage, StoredTopic } from './log-storage.ts'
import { comparePartitions } from './partition-key.ts'
import { knownTopic, knownTopics } from './refusals.ts'
import { trimTopics } from './retention.ts'
import { toStoredTopic } from './topic-config.ts'

/** What the admin is made of. */
export interface AdminParts {
  /** The open log. Rejects once the broker is closed. */
  readonly log: () => Promise<LogStorage>
  readonly clock: Clock
  /** Removes members of processes that are no more. */
  readonly expireEnded: () => Promise<void>
}

/** Topics and groups of the embedded broker. */
export class EmbeddedAdmin implements BrokerAdmin {
  readonly #parts: AdminParts

  constructor(parts: AdminParts) {
    this.#parts = parts
  }

  async topics(): Promise<readonly TopicDescription[]> {
    const { reads } = await this.#parts.log()
    return reads.topics().map(({ name, partitions }) => ({ name, partitions }))
  }

  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    const log = await this.#parts.log()
    const wanted = topics.map(toStoredTopic)
    await log.write((tables) => {
      for (const topic of wanted) {
        if (tables.topic(topic.name) === undefined) tables.addTopic(topic)
      }
    })
  }

  async topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { reads } = await this.#parts.log()
    return new Map(knownTopics(reads, topics).map(({ name, id }) => [name, id]))
  }

  async ranges(topics: readonly string[]): Promise<readonly LogRange[]> {
    const log = await this.#parts.log()
    const known = knownTopics(log.reads, [...new Set(topics)].toSorted())
    await trimTopics(log, known, this.#parts.clock.now())
    return known.flatMap((topic) => partitionsOf(topic).map((place) => log.reads.range(place)))
  }

  async offsetsAt(topic: string, timestamp: number): Promise<readonly Position[]> {
    const log = await this.#parts.log()
    const known = knownTopic(log.reads, topic)
    await trimTopics(log, [known], this.#parts.clock.now())
    return partitionsOf(known).map((place) => ({
      ...place,
      offset: log.reads.firstAt(place, timestamp) ?? log.reads.range(place).latest,
    }))
  }

  async groups(): Promise<readonly string[]> {
    const { reads } = await this.#parts.log()
    return reads.groupNames()
  }

  async group(name: string): Promise<GroupDescription> {
    const { reads } = await this.#parts.log()
    await this.#parts.expireEnded()
    const group = reads.group(name)
    const offsets = reads.offsets(name)
    if (group === undefined && offsets.length === 0)
      return { group: name, state: 'Dead', members: [], offsets: [] }
    const { members } = group ?? emptyGroup
    return {
      group: name,
      state: stateName(group ?? emptyGroup),
      members: members.map(({ id, clientId, host, owned }) => ({
        id,
        clientId,
        host,
        partitions: owned.toSorted(comparePartitions),
      })),
      offsets,
    }
  }
}

function partitionsOf({ name, partitions }: StoredTopic): { topic: string; partition: number }[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition }))
}
