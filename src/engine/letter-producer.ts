import { reducedLetter } from '../dead-letter/dead-letter.ts'
import { errorText, PolluxError } from '../errors.ts'
import { nextWait, pause } from '../pause.ts'
import type { BrokerProducer, OutgoingRecord, Refusal } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Waits } from './waits.ts'

/** What it needs of its surroundings. */
export interface LetterProducerParts {
  /** Of the dead letters. */
  readonly topic: string
  readonly clock: Clock
  readonly logger: Logger
  readonly waits: Waits
  /** Aborted once a stop was asked for: then nobody waits. */
  readonly stopping: AbortSignal
}

/** The largest form of a letter that the broker takes, as far as that is known beforehand. */
export function fittingLetter(
  letter: OutgoingRecord,
  check: (record: OutgoingRecord) => Error | undefined,
): OutgoingRecord {
  let fitting = letter
  for (
    let next: OutgoingRecord | undefined = letter;
    next !== undefined && check(next) !== undefined;
    next = reducedLetter(next)
  )
    fitting = reducedLetter(next) ?? next
  return fitting
}

/**
 * A producer whose dead letters are never refused: one that is too large is reduced, and where their topic cannot be
 * written, everything waits until it can. Only a stop ends that.
 */
export function letterProducer(
  producer: BrokerProducer,
  parts: LetterProducerParts,
): BrokerProducer {
  return {
    check: (record) => producer.check(record),
    close: () => producer.close(),
    async send(records) {
      const refusals = await producer.send(records)
      if (refusals.length === 0) return refusals
      const ofLetters = refusals.filter(({ index }) => records[index]?.topic === parts.topic)
      const others = refusals.filter((refusal) => !ofLetters.includes(refusal))
      const left: Refusal[] = []
      for (const refusal of ofLetters)
        left.push(
          ...(await insist(producer, records[refusal.index] as OutgoingRecord, refusal, parts)),
        )
      return [...others, ...left]
    },
  }
}

/** Gives nothing when it is written at last. */
async function insist(
  producer: BrokerProducer,
  letter: OutgoingRecord,
  refusal: Refusal,
  parts: LetterProducerParts,
): Promise<readonly Refusal[]> {
  let last = refusal
  const attempt = async (record: OutgoingRecord): Promise<boolean> => {
    const [again] = await producer.send([record])
    if (again !== undefined) last = { index: refusal.index, error: again.error }
    return again === undefined
  }
  let record = letter
  while (PolluxError.is(last.error, 'POLLUX_RECORD_TOO_LARGE')) {
    const reduced = reducedLetter(record)
    if (reduced === undefined) break
    record = reduced
    if (await attempt(record)) return []
  }
  const { topic, clock, logger, waits, stopping } = parts
  logger.warn({ topic, error: errorText(last.error) }, 'dead letters cannot be written: waiting')
  const endWait = waits.begin(`writing dead letters to ${topic}`)
  try {
    for (let count = 0; !stopping.aborted; count += 1) {
      await pause(clock, nextWait(clock, count), stopping)
      if (!(await attempt(record))) continue
      logger.info({ topic }, 'dead letters can be written again')
      return []
    }
    return [last]
  } finally {
    endWait()
  }
}
