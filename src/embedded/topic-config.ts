import { randomUUID } from 'node:crypto'
import { shown } from '../errors.ts'
import { Problems } from '../options.ts'
import type { NewTopic } from '../ports/broker.ts'
import { checkTopicName } from '../topic.ts'
import type { StoredTopic } from './log-storage.ts'

const mostPartitions = 1_000

/**
 * A new topic as it is stored. `retention.ms` and `pollux.retention.records` count, where -1 keeps everything as in
 * Kafka; other settings of Kafka are taken and have no effect here.
 * @throws POLLUX_OPTION_INVALID
 */
export function toStoredTopic({ name, partitions, config = {} }: NewTopic): StoredTopic {
  checkTopicName(name)
  const problems = new Problems()
  if (!Number.isInteger(partitions) || partitions < 1 || partitions > mostPartitions) {
    problems.add(
      `partitions: expected a whole number from 1 to ${mostPartitions}, found ${shown(partitions)}`,
    )
  }
  const retentionMs = readLimit(config, 'retention.ms', problems)
  const retentionRecords = readLimit(config, 'pollux.retention.records', problems)
  problems.throwIfAny(`Topic ${shown(name)} cannot be created`)
  return { name, id: randomUUID(), partitions, retentionMs, retentionRecords }
}

function readLimit(
  config: Readonly<Record<string, string>>,
  name: string,
  problems: Problems,
): number | undefined {
  const text = config[name]
  if (text === undefined || String(text) === '-1') return undefined
  const number = /^\d{1,16}$/.test(String(text)) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  problems.add(
    `${name}: expected a whole number as text, or '-1' for no limit, found ${shown(text)}`,
  )
  return undefined
}
