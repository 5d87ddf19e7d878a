import { setTimeout as sleep } from 'node:timers/promises'
import { PolluxError } from '../errors.ts'
import type {
  BrokerAdmin,
  GroupDescription,
  LogRange,
  NewTopic,
  Position,
  TopicDescription,
  TopicPartition,
} from '../ports/broker.ts'
import { checkTopicName } from '../topic.ts'
import type { ConnectionContext } from './connect-client.ts'
import {
  call,
  type DriverAdmin,
  type DriverClient,
  type DriverGroup,
  type DriverMetadata,
  type DriverOffset,
  type DriverTopic,
} from './driver.ts'
import { brokerError, errorNumber, kafkaErrors, unknownTopic } from './errors.ts'
import { logRanges, offsetsAtTime, withMetadata } from './lookups.ts'
import { bare } from './partitions.ts'
import { patiently } from './patience.ts'

// One try; a broker that is away for longer is asked again.
const requestLimit = 5_000

/** Milliseconds that a new topic is waited for. */
const newTopicLimit = 5_000

/** The connection that lookups go through. */
export interface AdminConnection {
  readonly client: DriverClient
  readonly admin: DriverAdmin
}

/** Looks things up, and makes topics. */
export class KafkaAdmin implements BrokerAdmin {
  readonly #connection: () => Promise<AdminConnection>
  readonly #context: ConnectionContext

  constructor(connection: () => Promise<AdminConnection>, context: ConnectionContext) {
    this.#connection = connection
    this.#context = context
  }

  async topics(): Promise<readonly TopicDescription[]> {
    const found = await this.#ask('Topics cannot be listed', ({ client }) =>
      call<DriverMetadata>((done) =>
        client.getMetadata({ allTopics: true, timeout: requestLimit }, done),
      ),
    )
    return found.topics
      .filter(({ name, partitions }) => !name.startsWith('__') && partitions.length > 0)
      .map(({ name, partitions }) => ({ name, partitions: partitions.length }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    await this.#connection()
    for (const topic of topics) {
      checkTopicName(topic.name)
      checkPartitions(topic)
    }
    for (const topic of topics) await this.#createTopic(topic)
    if (topics.length > 0) await this.#untilKnown(topics.map(({ name }) => name))
  }

  /**
   * The broker that answers hears of a new topic a moment after the controller has made it. There is a limit, as whoever may make
   * a topic need not be allowed to see it.
   */
  async #untilKnown(names: readonly string[]): Promise<void> {
    const { closed } = this.#context
    const end = performance.now() + newTopicLimit
    for (let wait = 10; performance.now() < end && !closed.aborted; wait *= 2) {
      const known = new Set((await this.topics()).map(({ name }) => name))
      if (names.every((name) => known.has(name))) return
      await sleep(wait, undefined, { signal: closed }).catch(() => undefined)
    }
  }

  async #createTopic({ name, partitions, replicas, config }: NewTopic): Promise<void> {
    const topic = {
      topic: name,
      num_partitions: partitions,
      replication_factor: replicas ?? -1,
      ...(config === undefined ? {} : { config }),
    }
    await this.#ask(`Topic ${name} cannot be made`, async ({ admin }) => {
      try {
        await call((done) => admin.createTopic(topic, requestLimit, done))
      } catch (error: unknown) {
        if (errorNumber(error) !== kafkaErrors.topicExists) throw error
      }
    })
  }

  async topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const names = [...new Set(topics)]
    await this.partitionsOf(names)
    const described = await this.#ask('Topics cannot be described', async ({ admin }) => {
      const found = await call<readonly DriverTopic[]>((done) =>
        admin.describeTopics(names, { timeout: requestLimit }, done),
      )
      const failed = found.find(({ error }) => error !== undefined && error.code !== 0)
      if (failed !== undefined) throw failed.error
      return found
    })
    return new Map(described.map(({ name, topicId }) => [name, topicId.base64]))
  }

  async ranges(topics: readonly string[]): Promise<readonly LogRange[]> {
    const partitions = await this.partitionsOf(topics.toSorted())
    return await this.#ask('Offsets cannot be looked up', ({ admin }) =>
      logRanges(admin, partitions),
    )
  }

  async offsetsAt(topic: string, timestamp: number): Promise<readonly Position[]> {
    const partitions = await this.partitionsOf([topic])
    return await this.#ask('Offsets cannot be looked up', ({ admin }) =>
      offsetsAtTime(admin, partitions, timestamp),
    )
  }

  async groups(): Promise<readonly string[]> {
    const { groups } = await this.#ask('Groups cannot be listed', ({ admin }) =>
      call<{ readonly groups: readonly { readonly groupId: string }[] }>((done) =>
        admin.listGroups({ timeout: requestLimit }, done),
      ),
    )
    return groups.map(({ groupId }) => groupId).toSorted()
  }

  async group(name: string): Promise<GroupDescription> {
    // The offsets first, as that waits until the group's coordinator is there: the native client ends the process when
    // a group is described before. A cluster has no coordinators until somebody asks for the first.
    const offsets = await this.#offsets(name)
    const described = await this.#ask(`Group ${name} cannot be described`, async ({ admin }) => {
      const { groups } = await call<{ readonly groups: readonly DriverGroup[] }>((done) =>
        admin.describeGroups([name], { timeout: requestLimit }, done),
      )
      const error = groups[0]?.error
      if (error !== undefined && ![0, kafkaErrors.groupNotFound].includes(error.code)) throw error
      return groups[0]
    })
    const state = stateNames[described?.state ?? 0] ?? 'Unknown'
    const isUnknown = described === undefined || described.error?.code === kafkaErrors.groupNotFound
    if (isUnknown || state === 'Dead')
      return { group: name, state: 'Dead', members: [], offsets: [] }
    const members = described.members.map(({ memberId, clientId, memberHost, assignment }) => ({
      id: memberId,
      clientId,
      host: memberHost,
      partitions: assignment.topicPartitions.map(bare),
    }))
    return { group: name, state, members, offsets }
  }

  async #offsets(name: string): Promise<readonly Position[]> {
    const found = await this.#ask(
      `The offsets of group ${name} cannot be read`,
      async ({ admin }) => {
        const [group] = await call<
          readonly { readonly error?: Error; readonly partitions: readonly DriverOffset[] }[]
        >((done) =>
          admin.listConsumerGroupOffsets([{ groupId: name }], { timeout: requestLimit }, done),
        )
        const code = errorNumber(group?.error)
        if (code === kafkaErrors.groupNotFound) return []
        if (code !== undefined && code !== 0) throw group?.error
        return group?.partitions ?? []
      },
    )
    return found
      .filter(({ offset }) => offset !== undefined && offset >= 0)
      .map(({ topic, partition, offset = 0, metadata }) => ({
        ...{ topic, partition, offset },
        ...withMetadata(metadata),
      }))
      .toSorted(byPlace)
  }

  /** All partitions of topics, in order. @throws POLLUX_TOPIC_UNKNOWN naming all that are missing. */
  async partitionsOf(topics: readonly string[]): Promise<readonly TopicPartition[]> {
    if (topics.length === 0) {
      await this.#connection()
      return []
    }
    let missing: readonly string[] = []
    // A topic that was just made is not known to each broker at once.
    for (let look = 1; look <= 3; look += 1) {
      const known = new Map(
        (await this.#allTopics()).map(({ name, partitions }) => [name, partitions]),
      )
      missing = topics.filter((topic) => !known.has(topic))
      if (missing.length > 0) continue
      return topics.flatMap((topic) =>
        Array.from({ length: known.get(topic) ?? 0 }, (_, partition) => ({ topic, partition })),
      )
    }
    throw unknownTopic(missing)
  }

  #allTopics(): Promise<readonly TopicDescription[]> {
    return this.topics()
  }

  async #ask<Value>(
    what: string,
    request: (connection: AdminConnection) => Promise<Value>,
  ): Promise<Value> {
    const connection = await this.#connection()
    try {
      return await patiently(this.#context.closed, () => request(connection))
    } catch (error: unknown) {
      throw brokerError(what, error, this.#context.secrets)
    }
  }
}

const stateNames = [
  'Unknown',
  'PreparingRebalance',
  'CompletingRebalance',
  'Stable',
  'Dead',
  'Empty',
]

function byPlace(one: TopicPartition, other: TopicPartition): number {
  if (one.topic !== other.topic) return one.topic < other.topic ? -1 : 1
  return one.partition - other.partition
}

function checkPartitions({ name, partitions }: NewTopic): void {
  if (Number.isInteger(partitions) && partitions > 0) return
  throw new PolluxError('POLLUX_OPTION_INVALID', `Topic ${name} needs partitions.`, {
    expected: 'a whole number from 1',
    found: `${partitions}`,
  })
}
