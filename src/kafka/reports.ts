import { PolluxError } from '../errors.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import type { DriverError, DriverReport } from './driver.ts'

/**
 * Finds the record that a report is about. Reports come for refused records only, and without a mark of ours: a mark
 * for each record would cost more than all the rest. So the record is found by its content; of several that are the
 * same, the first without a report is taken.
 */
export class Reports {
  readonly #waiting: { readonly error: DriverError; readonly report: DriverReport }[] = []

  add(error: DriverError, report: DriverReport): void {
    this.#waiting.push({ error, report })
  }

  get count(): number {
    return this.#waiting.length
  }

  /**
   * The errors by the records' places.
   * @throws POLLUX_BROKER_REFUSED when a report matches no record: one was not written, and nobody could say which.
   */
  take(records: readonly OutgoingRecord[], places: readonly number[]): Map<number, DriverError> {
    const found = new Map<number, DriverError>()
    for (const { error, report } of this.#waiting.splice(0)) {
      const place = places.find((at) => !found.has(at) && isSame(records[at], report))
      if (place === undefined) {
        throw new PolluxError(
          'POLLUX_BROKER_REFUSED',
          `A record for topic ${report.topic} was refused, and it cannot be told which one.`,
          { found: error.message },
        )
      }
      found.set(place, error)
    }
    return found
  }
}

function isSame(record: OutgoingRecord | undefined, report: DriverReport): boolean {
  if (record === undefined || record.topic !== report.topic) return false
  if (
    record.partition !== undefined &&
    report.partition >= 0 &&
    record.partition !== report.partition
  )
    return false
  if (
    record.timestamp !== undefined &&
    report.timestamp !== undefined &&
    record.timestamp !== report.timestamp
  )
    return false
  return sameBytes(record.key, report.key) && sameBytes(record.value, report.value ?? null)
}

function sameBytes(one: Buffer | null, other: Buffer | null): boolean {
  // The driver's report has no key for an empty one.
  if (one === null || other === null) return (one?.length ?? 0) === (other?.length ?? 0)
  return one.equals(other)
}
