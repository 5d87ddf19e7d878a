import { setTimeout as sleep } from 'node:timers/promises'
import { PolluxError } from '../errors.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import type { ConnectionContext } from './connect-client.ts'
import { call, type DriverClient, type DriverMetadata } from './driver.ts'
import { errorNumber, kafkaErrors, unknownTopic } from './errors.ts'
import { patiently } from './patience.ts'

// A topic that was just made is not known to each broker at once.
const looks = 3

/**
 * The topics a producer writes to, and how many partitions each has. Asked for before the first record of a topic:
 * librdkafka would keep records of a topic that does not exist for half a minute before it refuses them.
 */
export class TopicPartitions {
  readonly #client: DriverClient
  readonly #context: ConnectionContext
  readonly #counts = new Map<string, number>()

  constructor(client: DriverClient, context: ConnectionContext) {
    this.#client = client
    this.#context = context
  }

  /** Asks for what the check of these records needs and is not known yet. */
  load(records: readonly OutgoingRecord[], isClosing: () => boolean): Promise<void> | undefined {
    let missing: Set<string> | undefined
    for (const { topic, partition = 0 } of records) {
      const count = this.#counts.get(topic)
      // A partition above the count may have been added since.
      if (count === undefined || partition >= count) (missing ??= new Set()).add(topic)
    }
    return missing === undefined ? undefined : this.#ask([...missing], isClosing)
  }

  async #ask(topics: readonly string[], isClosing: () => boolean): Promise<void> {
    for (const topic of topics) {
      for (let look = 1; look <= looks && !isClosing(); look += 1) {
        const count = await partitionCount(this.#client, topic, this.#context)
        if (count > 0) {
          this.#counts.set(topic, count)
          break
        }
        if (look < looks) await sleep(50)
      }
    }
  }

  /** Why a record cannot be written; undefined when its topic and partition exist. */
  check({ topic, partition }: OutgoingRecord): PolluxError | undefined {
    const count = this.#counts.get(topic)
    if (count === undefined) return unknownTopic([topic])
    if (partition === undefined || (partition >= 0 && partition < count)) return undefined
    return new PolluxError(
      'POLLUX_OUTPUT_REFUSED',
      `Topic ${topic} has no partition ${partition}.`,
      {
        expected: `0 to ${count - 1}`,
      },
    )
  }

  /** The topic was deleted, it seems. */
  forget(topic: string | undefined): void {
    if (topic !== undefined) this.#counts.delete(topic)
  }
}

/** How many partitions a topic has; 0 when there is no such topic. */
export async function partitionCount(
  client: DriverClient,
  topic: string,
  context: ConnectionContext,
): Promise<number> {
  try {
    const found = await patiently(context.closed, () =>
      call<DriverMetadata>((done) =>
        client.getMetadata({ topic, allTopics: false, timeout: 4_000 }, done),
      ),
    )
    return found.topics.find(({ name }) => name === topic)?.partitions.length ?? 0
  } catch (error: unknown) {
    const code = errorNumber(error)
    if (
      code === kafkaErrors.unknownTopic ||
      code === kafkaErrors.unknownTopicLocal ||
      code === kafkaErrors.invalidTopic
    )
      return 0
    throw error
  }
}
