import type { TopicPartition } from '../ports/broker.ts'

/** `topic/partition`: a partition as a key of maps. Topic names hold no slash. */
export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}

/** Orders by topic, then by number. */
export function comparePartitions(one: TopicPartition, other: TopicPartition): number {
  if (one.topic !== other.topic) return one.topic < other.topic ? -1 : 1
  return one.partition - other.partition
}
