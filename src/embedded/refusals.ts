import { PolluxError, shown } from '../errors.ts'
import type { LogReads, StoredTopic } from './log-storage.ts'

/** @throws POLLUX_TOPIC_UNKNOWN */
export function knownTopic(log: LogReads, name: string): StoredTopic {
  const topic = log.topic(name)
  if (topic === undefined) throw unknownTopics([name])
  return topic
}

/** @throws POLLUX_TOPIC_UNKNOWN naming all that are missing. */
export function knownTopics(log: LogReads, names: readonly string[]): readonly StoredTopic[] {
  const missing = names.filter((name) => log.topic(name) === undefined)
  if (missing.length > 0) throw unknownTopics(missing)
  return names.map((name) => knownTopic(log, name))
}

/** The error for topics that do not exist. */
export function unknownTopics(names: readonly string[]): PolluxError {
  const list = names.map(shown).join(', ')
  return new PolluxError('POLLUX_TOPIC_UNKNOWN', `The embedded broker has no topic ${list}.`, {
    hint: '`pollux topics` lists those there are; `pollux produce` makes one, and so does createTopics (--create-topics).',
  })
}

/** The error for what is used after it was closed. */
export function closedError(what: string): PolluxError {
  return new PolluxError('POLLUX_BROKER_CLOSED', `${what} is closed.`, { hint: 'Open a new one.' })
}
