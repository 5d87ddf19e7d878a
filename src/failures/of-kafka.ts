import type { Course } from './course.ts'

// The numbers of https://kafka.apache.org/protocol#protocol_error_codes that are a record's own fault.
const refused: readonly number[] = [2, 10, 18, 42, 87]

/** Errors of a Kafka client of the handler's own: librdkafka's and kafkajs'. */
export function ofKafka(error: object): Course | undefined {
  const { origin, code, retriable, name } = error as {
    readonly origin?: unknown
    readonly code?: unknown
    readonly retriable?: unknown
    readonly name?: unknown
  }
  if (typeof code === 'number' && (origin === 'kafka' || origin === 'local'))
    return refused.includes(code) ? 'dead-letter' : 'wait'
  if (typeof name === 'string' && name.startsWith('KafkaJS'))
    return retriable === true ? 'wait' : 'retry'
  return undefined
}
