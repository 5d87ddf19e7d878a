import { type ErrorCode, errorText, PolluxError } from '../errors.ts'
import type { Secrets } from './secrets.ts'

/** The error numbers of the driver that are told apart: negative ones are its own, the others are Kafka's. */
export const kafkaErrors = {
  unknownPartition: -190,
  unknownTopicLocal: -188,
  queueFull: -184,
  timedOut: -185,
  state: -172,
  fenced: -144,
  purgedInFlight: -151,
  purgedInQueue: -152,
  fatal: -150,
  maxPollExceeded: -147,
  autoOffsetReset: -140,
  unknownTopic: 3,
  messageTooLarge: 10,
  invalidTopic: 17,
  recordListTooLarge: 18,
  illegalGeneration: 22,
  unknownMember: 25,
  rebalanceInProgress: 27,
  topicNotAuthorized: 29,
  groupNotAuthorized: 30,
  clusterNotAuthorized: 31,
  topicExists: 36,
  skippedSequence: 45,
  invalidProducerEpoch: 47,
  invalidTransactionState: 48,
  unknownProducerMapping: 49,
  invalidTransactionTimeout: 50,
  transactionNotAuthorized: 53,
  unknownProducer: 59,
  groupNotFound: 69,
  fencedInstance: 82,
  producerFenced: 90,
  fencedEpoch: 110,
  staleEpoch: 113,
} as const

// Transport, name resolution, records out of time, all brokers down, local time-outs, coordinator not known yet, retry,
// busy; and Kafka's: leader or coordinator moving or loading, request time-out, not enough replicas, storage error,
// unstable offsets, throttled, reassignment.
const passing = new Set([
  ...[-195, -193, -192, -187, -185, -180, -166, -164, -154, -178, -177],
  ...[5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 60, 72, 74, 75, 77, 78, 88, 89],
])

/** The driver's error number; undefined for other errors. */
export function errorNumber(error: unknown): number | undefined {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code
  return typeof code === 'number' ? code : undefined
}

/** True for what passes by itself: a broker that restarts, a leader that moves, a network that is down. */
export function isPassing(error: unknown): boolean {
  const code = errorNumber(error)
  return code !== undefined && passing.has(code)
}

const codes: Readonly<Record<number, ErrorCode>> = {
  [kafkaErrors.unknownTopicLocal]: 'POLLUX_TOPIC_UNKNOWN',
  [kafkaErrors.unknownTopic]: 'POLLUX_TOPIC_UNKNOWN',
  [kafkaErrors.autoOffsetReset]: 'POLLUX_OFFSET_RESET',
}

const hints: Readonly<Record<number, string>> = {
  [kafkaErrors.topicNotAuthorized]:
    'Give this account the right to read, or write, and describe the topic.',
  [kafkaErrors.groupNotAuthorized]: 'Give this account the right to read the group.',
  [kafkaErrors.clusterNotAuthorized]: 'Give this account the right to do that on the cluster.',
  [kafkaErrors.transactionNotAuthorized]:
    'Give this account the right to write, and describe, the transactional id.',
  [kafkaErrors.invalidTransactionTimeout]:
    'Lower transaction.timeout.ms of the producer, or raise transaction.max.timeout.ms of the broker.',
  [kafkaErrors.fencedInstance]:
    'Another process uses the same instanceId; each process needs one of its own.',
  [kafkaErrors.fenced]:
    'A newer producer has the same transactional id; each process needs one of its own.',
  [kafkaErrors.fatal]: 'The client cannot go on; restart the process.',
  [kafkaErrors.autoOffsetReset]:
    'Records between were deleted, or the topic was made again. Reset the group to a position that exists.',
}

/** An error of the driver in Pollux' words. `what` says what was asked for, e.g. `Group "a" cannot be described`. */
export function brokerError(what: string, cause: unknown, secrets: Secrets): PolluxError {
  if (PolluxError.is(cause)) return cause
  const code = errorNumber(cause)
  const number = code === undefined || code === -1 ? '' : ` (${code})`
  const hint = code === undefined ? undefined : hints[code]
  return new PolluxError(
    (code === undefined ? undefined : codes[code]) ?? 'POLLUX_BROKER_REFUSED',
    `${what}.`,
    {
      found: `${secrets.scrub(errorText(cause))}${number}`,
      ...(hint === undefined ? {} : { hint }),
    },
  )
}

/** For use after closing. */
export function closedError(what: string): PolluxError {
  return new PolluxError('POLLUX_BROKER_CLOSED', `${what} was used after it had been closed.`)
}

export function unknownTopic(topics: readonly string[]): PolluxError {
  const names = topics.map((name) => `'${name}'`).join(', ')
  return new PolluxError('POLLUX_TOPIC_UNKNOWN', `The broker does not have the topic ${names}.`, {
    hint:
      'Correct the name, or make it: pollux run and pollux produce do with --create-topics. ' +
      'An account without the right to describe a topic does not see it either.',
  })
}
