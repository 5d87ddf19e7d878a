import { PolluxError } from '../errors.ts'
import type { BrokerAdmin } from '../ports/broker.ts'
import type { Service } from '../service.ts'
import type { AnyTopic } from '../topic.ts'

const defaultPartitions = 4

// A dead letter waits for somebody to look at it: longer than a holiday. One partition keeps them in their order.
const deadLetters = {
  partitions: 1,
  config: { 'cleanup.policy': 'delete', 'retention.ms': String(30 * 24 * 60 * 60 * 1_000) },
}

/**
 * Makes sure that all topics exist: makes the missing ones if it may, and those of dead letters in any case.
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
  if (missing.size > 0 && !mayCreate) {
    throw new PolluxError(
      'POLLUX_TOPIC_UNKNOWN',
      `The broker has no such topic: ${[...missing.keys()].join(', ')}.`,
      {
        hint: 'Make them with the partitions you want, or start with createTopics (--create-topics).',
      },
    )
  }
  const letters = services.flatMap(({ options: { deadLetter } }) => deadLetter ?? [])
  const wanted = [
    ...[...missing.values()].map(({ name, create }) => ({
      name,
      partitions: create.partitions ?? defaultPartitions,
      config: create.config,
    })),
    ...[...new Set(letters)]
      .filter((name) => !existing.has(name) && !missing.has(name))
      .map((name) => ({ name, ...deadLetters })),
  ]
  if (wanted.length > 0) await admin.createTopics(wanted)
}
