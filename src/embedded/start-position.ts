import type { LogRange } from '../ports/broker.ts'

/** Where a group goes on in a partition. */
export interface Start {
  readonly start: number
  /** Set when the committed position is not in the log: what a person has to know. */
  readonly warning: string | undefined
}

/**
 * The committed position if the log holds it; else what Kafka's `auto.offset.reset` would do. Retention may have
 * removed it, or the log may have been made anew and be shorter.
 */
export function startPosition(
  committed: number | undefined,
  { topic, partition, earliest, latest }: LogRange,
  policy: 'earliest' | 'latest',
): Start {
  const reset = policy === 'earliest' ? earliest : latest
  if (committed === undefined) return { start: reset, warning: undefined }
  const place = `${topic}/${partition}`
  if (committed < earliest) {
    return {
      start: reset,
      warning: `${reset - committed} records of ${place} were missed: the position ${committed} was removed by retention. Reading goes on at ${reset}.`,
    }
  }
  if (committed > latest) {
    return {
      start: reset,
      warning: `The position ${committed} of ${place} lies behind the log's end ${latest}: the log is not the one it was. Reading goes on at ${reset}.`,
    }
  }
  return { start: committed, warning: undefined }
}
