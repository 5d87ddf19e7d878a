import { PolluxError } from '../errors.ts'
import type { BrokerAdmin } from '../ports/broker.ts'
import type { Service } from '../service.ts'
import type { AnyTopic } from '../topic.ts'

const defaultPartitions = 4

/**
 * Makes sure that all topics exist: makes the missing ones if it may.
 * @throws POLLUX_TOPIC_UNKNOWN naming all that are missing.
 */
export async function ensureTopics(
  admin: BrokerAdmin,
  services: readonly Service[],
  mayCreate: boolean,
): Promise<void> {
  const existing = new Set((await admin.topics()).map(({ name }) => name))
  const missing = new Map<string, AnyTopic>()
  for (const topic of services.flatMap(({ inputs, outputs }) => [...inputs, ...outputs])) {
    if (!existing.has(topic.name)) missing.set(topic.name, topic)
  }
  if (missing.size === 0) return
  if (!mayCreate) {
    throw new PolluxError(
      'POLLUX_TOPIC_UNKNOWN',
      `The broker has no such topic: ${[...missing.keys()].join(', ')}.`,
      {
        hint: 'Make them with the partitions you want, or start with createTopics (--create-topics).',
      },
    )
  }
  await admin.createTopics(
    [...missing.values()].map(({ name, create }) => ({
      name,
      partitions: create.partitions ?? defaultPartitions,
      config: create.config,
    })),
  )
}
