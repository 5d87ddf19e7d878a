import type { BrokerProducer } from '../ports/broker.ts'
import type { Lanes } from './lanes.ts'
import { fittingLetter, letterProducer } from './letter-producer.ts'
import { Outage } from './outage.ts'
import { Retries } from './retries.ts'
import type { ServiceStagesParts } from './service-stages.ts'

/** What a message meets that fails. */
export interface FailureStages {
  /** Writes dead letters whatever it takes, and everything else like the one it was given. */
  readonly producer: BrokerProducer
  readonly outage: Outage
  readonly retries: Retries
}

/** Joins them. `dispatch` starts what may start. */
export function failureStages(
  parts: ServiceStagesParts,
  lanes: Lanes,
  dispatch: () => void,
): FailureStages {
  const { service, ends } = parts
  const topic = service.options.deadLetter
  const producer =
    topic === undefined ? parts.producer : letterProducer(parts.producer, { ...parts, topic })
  const outage = new Outage({ ...parts, dispatch })
  const retries = new Retries({
    ...parts,
    lanes,
    outage,
    dispatch,
    fitting: (letter) => fittingLetter(letter, (record) => producer.check(record)),
    failed: (work, error) => ends.failed(work, error),
    handedBack: (work) => ends.handedBack(work),
  })
  return { producer, outage, retries }
}
