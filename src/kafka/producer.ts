import type { PolluxError } from '../errors.ts'
import type { BrokerProducer, OutgoingRecord, Refusal } from '../ports/broker.ts'
import { type ConnectedClient, type ConnectionContext, disconnectClient } from './connect-client.ts'
import type { DriverError, DriverProducer } from './driver.ts'
import { brokerError, closedError, kafkaErrors } from './errors.ts'
import { checkSize } from './record-size.ts'
import { isTooLarge, mostAtOnce, RecordWriter } from './record-writer.ts'

/** One call of `send` that waits for its turn. */
interface Waiting {
  readonly records: readonly OutgoingRecord[]
  readonly resolve: (refusals: readonly Refusal[]) => void
  readonly reject: (error: unknown) => void
}

/** Sends one batch at a time. What is sent meanwhile waits and makes up the next, so batches grow with the load. */
export class KafkaProducer implements BrokerProducer {
  readonly #client: DriverProducer
  readonly #context: ConnectionContext
  readonly #maxBytes: number
  readonly #writer: RecordWriter
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined
  #closing: Promise<void> | undefined
  #failure: PolluxError | undefined
  readonly #closed: () => void

  constructor(
    connected: ConnectedClient<DriverProducer>,
    context: ConnectionContext,
    maxBytes: number,
    closed: () => void,
  ) {
    this.#client = connected.client
    this.#context = context
    this.#maxBytes = maxBytes
    this.#closed = closed
    this.#writer = new RecordWriter(connected, context, maxBytes, () => this.#closing !== undefined)
  }

  send(records: readonly OutgoingRecord[]): Promise<readonly Refusal[]> {
    if (this.#closing !== undefined) return Promise.reject(closedError('A producer'))
    if (records.length === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      this.#waiting.push({ records, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  check(record: OutgoingRecord): Error | undefined {
    return checkSize(record, this.#maxBytes)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    for (const { reject } of this.#waiting.splice(0)) reject(closedError('A producer'))
    await this.#running
    if (!(await disconnectClient(this.#client, 5_000))) {
      this.#context.logger.warn(
        { brokers: this.#context.where },
        'A Kafka producer did not end in time; it is left alone',
      )
    }
    this.#closed()
  }

  async #run(): Promise<void> {
    // Calls of the same turn share a batch.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch()
      try {
        const [first] = batch
        const all =
          batch.length === 1 && first !== undefined
            ? first.records
            : batch.flatMap((one) => one.records)
        const refusals = await this.#write(all)
        settle(batch, refusals)
      } catch (error: unknown) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#running = undefined
  }

  #nextBatch(): Waiting[] {
    let count = 0
    let calls = 0
    for (const { records } of this.#waiting) {
      if (calls > 0 && count + records.length > mostAtOnce) break
      count += records.length
      calls += 1
    }
    return this.#waiting.splice(0, calls)
  }

  async #write(records: readonly OutgoingRecord[]): Promise<Map<number, Error>> {
    const { places, refused } = await this.#writer.sort(records)
    for (const [place, error] of await this.#writeSorted(records, places))
      refused.set(place, this.#writer.refusal(records[place]?.topic ?? '', error))
    return refused
  }

  /** Writes records together; what the broker found too large together is written again one by one. */
  async #writeSorted(
    records: readonly OutgoingRecord[],
    places: readonly number[],
  ): Promise<Map<number, DriverError>> {
    const errors = await this.#attempt(records, places)
    if (places.length === 1) return errors
    const again = [...errors].filter(([, error]) => isTooLarge(error)).map(([place]) => place)
    if (again.length === 0) return errors
    // The topic's max.message.bytes is below our batch size: the broker refused the batch, not its records.
    this.#context.logger.warn(
      { topic: records[again[0] ?? 0]?.topic, records: again.length },
      'The broker refused a batch as too large; its records are sent one by one. Set batch.size below the topic’s max.message.bytes',
    )
    for (const place of again.toSorted((one, other) => one - other)) {
      const error = (await this.#attempt(records, [place])).get(place)
      if (error === undefined) errors.delete(place)
      else errors.set(place, error)
    }
    return errors
  }

  async #attempt(
    records: readonly OutgoingRecord[],
    places: readonly number[],
  ): Promise<Map<number, DriverError>> {
    if (this.#failure !== undefined) throw this.#failure
    const failed = await this.#writer.write(records, places)
    for (const error of failed.values()) this.#checkFatal(error)
    return failed
  }

  #checkFatal(error: DriverError): void {
    if (error.code !== kafkaErrors.fatal) return
    this.#failure = brokerError('The Kafka producer cannot go on', error, this.#context.secrets)
    throw this.#failure
  }
}

/** Gives each call its own refusals, by the places in its own records. */
function settle(batch: readonly Waiting[], refused: Map<number, Error>): void {
  let from = 0
  for (const { records, resolve } of batch) {
    const refusals: Refusal[] = []
    if (refused.size > 0) {
      for (let index = 0; index < records.length; index += 1) {
        const error = refused.get(from + index)
        if (error !== undefined) refusals.push({ index, error })
      }
    }
    from += records.length
    resolve(refusals)
  }
}
