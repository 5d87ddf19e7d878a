import { deadLetter } from '../dead-letter/dead-letter.ts'
import { errorText, type PolluxError } from '../errors.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Service } from '../service.ts'
import type { ServiceCounts } from './counts.ts'
import type { Lanes } from './lanes.ts'
import type { Outage } from './outage.ts'
import type { Work } from './partition.ts'
import { countsAsOutage, type GivenUpBecause, verdictOn } from './verdict.ts'

/**
 * What has become of a message whose handler has failed. `held`: it is tried again, and later ones of its lane wait.
 * `letter`: its dead letter is its output, and it goes on like one that was handled. `over`: it is not finished here.
 */
export type Fate = 'held' | 'letter' | 'over'

/** What they need of their surroundings. */
export interface RetriesParts {
  readonly service: Service
  readonly lanes: Lanes
  readonly outage: Outage
  readonly clock: Clock
  readonly logger: Logger
  readonly counts: ServiceCounts
  /** Names this process in dead letters. */
  readonly instance: string | undefined
  /** The largest form of the letter that the broker takes. */
  fitting(letter: OutgoingRecord): OutgoingRecord
  dispatch(): void
  /** Its partition stops in front of it, unless that is over anyway. */
  failed(work: Work, error: PolluxError): void
  /** It is left to the next owner. */
  handedBack(work: Work): void
}

/** Decides what becomes of messages whose handlers have failed, and sees to it. */
export class Retries {
  readonly #parts: RetriesParts

  constructor(parts: RetriesParts) {
    this.#parts = parts
  }

  failed(work: Work, error: PolluxError): Fate {
    const { partition } = work
    const { service, outage, clock } = this.#parts
    const { retry, deadLetter: topic } = service.options
    // A handler that gave up because it was told to has not failed.
    if (partition.signal.aborted) return this.#over(work, error)
    const failures = this.#count(work, countsAsOutage(error, retry))
    const verdict = verdictOn(error, failures, retry, clock.random())
    if (verdict.then !== 'again' || !verdict.isOutage) outage.worked()
    if (verdict.then === 'stop') return this.#over(work, error)
    if (verdict.then === 'give up') {
      if (topic === undefined) return this.#over(work, error)
      return this.#giveUp(work, error, topic, verdict.because)
    }
    if (partition.isClosed) {
      this.#parts.handedBack(work)
      return 'over'
    }
    this.#hold(work, error, verdict)
    return 'held'
  }

  #over(work: Work, error: PolluxError): Fate {
    this.#parts.failed(work, error)
    return 'over'
  }

  #count(work: Work, isOutage: boolean): NonNullable<Work['failures']> {
    const { attempts, outages, since } = work.failures ?? {
      attempts: 0,
      outages: 0,
      since: this.#parts.clock.now(),
    }
    work.failures = isOutage
      ? { attempts, outages: outages + 1, since }
      : { attempts: attempts + 1, outages, since }
    return work.failures
  }

  #hold(
    work: Work,
    error: PolluxError,
    { after, isOutage }: { readonly after: number; readonly isOutage: boolean },
  ): void {
    const { lanes, outage, clock, logger, counts, dispatch } = this.#parts
    const { held } = work.partition
    counts.retries += 1
    logger.debug(
      { message: String(work), error: errorText(error), after, ...work.failures },
      'a message has failed and is tried again',
    )
    const endWait = (): void => {
      callOff()
      held.delete(work)
      outage.forget(endWait)
      lanes.resume(work)
    }
    const callOff = clock.after(after, () => {
      endWait()
      dispatch()
    })
    lanes.hold(work)
    held.set(work, endWait)
    if (isOutage) outage.failed(error, endWait)
  }

  /** The store does not take what was made of it. The result tells of it, once that has turned out to be its own fault. */
  refused(work: Work, error: PolluxError): (() => void) | undefined {
    const topic = this.#parts.service.options.deadLetter
    if (topic === undefined) return undefined
    this.#write(work, error, topic, 'permanent')
    return () => this.#tell(work, error, topic)
  }

  #giveUp(work: Work, error: PolluxError, topic: string, because: GivenUpBecause): Fate {
    this.#write(work, error, topic, because)
    this.#tell(work, error, topic)
    return 'letter'
  }

  /** Makes its dead letter its output. */
  #write(work: Work, error: PolluxError, topic: string, because: GivenUpBecause): void {
    const { service, clock, instance, fitting } = this.#parts
    const now = clock.now()
    const { attempts, since } = work.failures ?? { attempts: 1, since: now }
    const letter = deadLetter(topic, {
      raw: work.raw,
      service: service.name,
      error,
      reason: error.code === 'POLLUX_DECODE_FAILED' ? 'undecodable' : because,
      attempts,
      failedAt: now,
      firstFailedAt: since,
      instance,
    })
    work.outputs = [fitting(letter)]
  }

  #tell(work: Work, { code, message }: PolluxError, topic: string): void {
    const { logger, counts } = this.#parts
    counts.deadLetters += 1
    const fields = { code, message: String(work), attempts: work.failures?.attempts ?? 1, topic }
    logger.error(fields, `dead letter: ${message}`)
  }
}
