/**
 * The headers of a dead letter, all of them UTF-8 text. The first six are those that Kafka's own share groups write
 * (KIP-1191); the rest says what these leave out. `docs/dead-letters.md` describes them.
 */
export const letterHeaders = {
  topic: '__dlq.errors.topic',
  partition: '__dlq.errors.partition',
  offset: '__dlq.errors.offset',
  group: '__dlq.errors.group',
  attempts: '__dlq.errors.delivery.count',
  message: '__dlq.errors.message',
  /** Why it was given up: `permanent`, `attempts`, `undecodable`. */
  reason: 'dlq-reason',
  /** The code or the name of the error. */
  error: 'dlq-error',
  /** The error's stack, capped. */
  stack: 'dlq-stack',
  /** Equal for errors that are alike. */
  fingerprint: 'dlq-fingerprint',
  /** The record's own time, in milliseconds since 1970. */
  timestamp: 'dlq-timestamp',
  /** Milliseconds since 1970, too. */
  failedAt: 'dlq-failed-at',
  firstFailedAt: 'dlq-first-failed-at',
  /** The process that gave it up. */
  instance: 'dlq-instance',
  /** How often it was replayed before; absent the first time. */
  replays: 'dlq-replays',
  /** What was left out, as the letter would have been too large: `value`, or `key value headers`. */
  reduced: 'dlq-reduced',
} as const

/** Whether a header is one of a dead letter of ours. */
export function isLetterHeader(name: string): boolean {
  return names.has(name)
}

const names: ReadonlySet<string> = new Set(Object.values(letterHeaders))
