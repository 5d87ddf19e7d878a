import type { OutgoingRecord } from '../ports/broker.ts'
import type { DriverError } from './driver.ts'
import { isPassing, kafkaErrors } from './errors.ts'
import { isTooLarge } from './record-writer.ts'
import type { TransactionClient } from './transaction-client.ts'

// What is said of records because of something else: another record, the transaction, the client.
const consequences: ReadonlySet<number> = new Set([
  kafkaErrors.purgedInFlight,
  kafkaErrors.purgedInQueue,
  kafkaErrors.state,
  kafkaErrors.fatal,
  kafkaErrors.fenced,
])

/**
 * The records of one transaction, and what was learned of them in attempts that failed: each is a transaction of
 * Kafka of its own.
 */
export class TransactionRecords {
  /** Why the broker will never take records, by their places. */
  readonly refused: Map<number, DriverError> = new Map()
  readonly #records: readonly OutgoingRecord[]
  readonly #places: readonly number[]
  /** Topics whose records are written one by one: the broker found a batch too large, and does not say why. */
  readonly #alone = new Set<string>()
  /** Places of records that the broker has taken when they were written alone. */
  readonly #good = new Set<number>()

  constructor(records: readonly OutgoingRecord[], places: readonly number[]) {
    this.#records = records
    this.#places = places
  }

  /**
   * Writes them in the transaction that is open. Unless all are written, it has to be aborted; `refused` is complete
   * then, or with `again` another attempt is wanted. Rejects with the driver's error when records are not to blame.
   */
  async write(client: TransactionClient): Promise<'written' | 'refused' | 'again'> {
    if (this.refused.size === 0) {
      const together = this.#places.filter((place) => !this.#alone.has(this.#topicOf(place)))
      const result = this.#judge(await this.#send(client, together))
      if (result !== 'written') return result
    }
    for (const place of this.#places) {
      if (!this.#alone.has(this.#topicOf(place))) continue
      // With one refused, it goes on only to learn of the others.
      if (this.refused.size > 0 && (this.refused.has(place) || this.#good.has(place))) continue
      const error = (await this.#send(client, [place])).get(place)
      if (error !== undefined) {
        this.refused.set(place, error)
        return 'again'
      }
      this.#good.add(place)
    }
    return this.refused.size === 0 ? 'written' : 'refused'
  }

  /** What came of records that were written together. */
  #judge(failed: ReadonlyMap<number, DriverError>): 'written' | 'refused' | 'again' {
    if (failed.size === 0) return 'written'
    for (const [place, error] of failed)
      if (!isTooLarge(error) || this.#places.length === 1) this.refused.set(place, error)
    if (this.refused.size > 0) return 'refused'
    for (const place of failed.keys()) this.#alone.add(this.#topicOf(place))
    return 'again'
  }

  async #send(
    client: TransactionClient,
    places: readonly number[],
  ): Promise<ReadonlyMap<number, DriverError>> {
    const failed = await client.writer.write(this.#records, places)
    if (failed.size === 0) return failed
    const own = [...failed].filter(
      ([, error]) => !consequences.has(error.code) && !isPassing(error),
    )
    if (own.length > 0) return new Map(own)
    // Nothing can be committed any more; the driver answers with what made the transaction fail.
    await client.commit()
    throw new Error('a transaction was committed although records of it were not written')
  }

  #topicOf(place: number): string {
    return this.#records[place]?.topic ?? ''
  }
}
