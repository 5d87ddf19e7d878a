import { setImmediate as turn } from 'node:timers/promises'
import { PolluxError } from '../errors.ts'
import type { BrokerProducer, OutgoingRecord, Refusal } from '../ports/broker.ts'
import { type ConnectedClient, type ConnectionContext, disconnectClient } from './connect-client.ts'
import type { ConnectionLog } from './connection-log.ts'
import type { DriverError, DriverProducer } from './driver.ts'
import { brokerError, closedError, errorNumber, kafkaErrors } from './errors.ts'
import { recordBytes } from './record-size.ts'
import { Reports } from './reports.ts'
import { TopicPartitions } from './topic-partitions.ts'

/** One call of `send` that waits for its turn. */
interface Waiting {
  readonly records: readonly OutgoingRecord[]
  readonly resolve: (refusals: readonly Refusal[]) => void
  readonly reject: (error: unknown) => void
}

// More in one go would fill librdkafka's queue and block the event loop for too long.
const mostAtOnce = 5_000
const isTooLarge = (error: DriverError): boolean =>
  error.code === kafkaErrors.messageTooLarge || error.code === kafkaErrors.recordListTooLarge

/**
 * Sends one batch at a time. Librdkafka tells us of refused records only; that all others are written, we know from
 * `flush`: it returns without a time-out when nothing is outstanding any more. What is sent meanwhile waits and
 * makes up the next batch, so the batches grow with the load.
 */
export class KafkaProducer implements BrokerProducer {
  readonly #client: DriverProducer
  readonly #log: ConnectionLog
  readonly #context: ConnectionContext
  readonly #maxBytes: number
  readonly #reports = new Reports()
  readonly #topics: TopicPartitions
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
    this.#log = connected.log
    this.#context = context
    this.#maxBytes = maxBytes
    this.#closed = closed
    this.#topics = new TopicPartitions(this.#client, context)
    this.#client.on('delivery-report', (error, report) => {
      if (error !== null && error !== undefined) this.#reports.add(error, report)
    })
    // Reports come with `flush`; between batches only news of the connection waits in the queue.
    this.#client.setPollInterval(1_000)
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
    const bytes = recordBytes(record)
    if (bytes <= this.#maxBytes) return undefined
    return new PolluxError(
      'POLLUX_OUTPUT_REFUSED',
      `A record for topic ${record.topic} is too large.`,
      {
        expected: `at most ${this.#maxBytes} bytes with its headers`,
        found: `${bytes} bytes`,
        hint: 'Make it smaller, or raise message.max.bytes of the client, and of the broker or topic.',
      },
    )
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
    const refused = new Map<number, Error>()
    await this.#topics.load(records, this.#closingSignal)
    const places: number[] = []
    for (const [place, record] of records.entries()) {
      const error = this.check(record) ?? this.#topics.check(record)
      if (error === undefined) places.push(place)
      else refused.set(place, error)
    }
    for (let from = 0; from < places.length; from += mostAtOnce) {
      const part = places.length <= mostAtOnce ? places : places.slice(from, from + mostAtOnce)
      for (const [place, error] of await this.#writePart(records, part))
        refused.set(place, this.#refusal(records, place, error))
    }
    return refused
  }

  /** Writes records together; what the broker found too large together is written again one by one. */
  async #writePart(
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
    const failed = new Map<number, DriverError>()
    for (const place of places) {
      if (this.#failure !== undefined) throw this.#failure
      const full = this.#produce(records[place] as OutgoingRecord, place, failed)
      if (full !== undefined) await full
    }
    await this.#acknowledged()
    if (this.#reports.count > 0) {
      for (const [place, error] of this.#reports.take(records, places)) failed.set(place, error)
    }
    for (const error of failed.values()) this.#checkFatal(error)
    return failed
  }

  /** Returns a promise only when the queue is full: one for each record would cost as much as the record. */
  #produce(
    record: OutgoingRecord,
    place: number,
    failed: Map<number, DriverError>,
  ): Promise<void> | undefined {
    try {
      produce(this.#client, record)
      return undefined
    } catch (error: unknown) {
      const code = errorNumber(error)
      if (code === kafkaErrors.queueFull) {
        return this.#acknowledged().then(() => this.#produce(record, place, failed))
      }
      if (code === undefined) throw error
      failed.set(place, error as DriverError)
      return undefined
    }
  }

  /**
   * Waits until nothing is outstanding. `flush` sleeps in a thread until a report comes or its time is over, and
   * for written records no report comes: so it is called with a short time first, which then grows.
   */
  async #acknowledged(): Promise<void> {
    for (let slice = 1; ; slice = Math.min(10, slice + 1)) {
      const error = await new Promise<unknown>((resolve) => this.#client.flush(slice, resolve))
      if (error === null || error === undefined) break
      if (errorNumber(error) !== kafkaErrors.timedOut)
        throw brokerError('Records cannot be sent', error, this.#context.secrets)
      if (this.#closing !== undefined || this.#context.closed.aborted)
        throw closedError('A producer')
    }
    this.#log.isUp()
    // Reports were queued for this thread before `flush` came back, a hundred for each turn of the event loop.
    for (let before = -1; before < this.#reports.count; ) {
      before = this.#reports.count
      await turn()
      await turn()
    }
  }

  #checkFatal(error: DriverError): void {
    if (error.code !== kafkaErrors.fatal) return
    this.#failure = brokerError('The Kafka producer cannot go on', error, this.#context.secrets)
    throw this.#failure
  }

  #refusal(records: readonly OutgoingRecord[], place: number, cause: DriverError): Error {
    const topic = records[place]?.topic
    const error = brokerError(
      `A record for topic ${topic} is refused`,
      cause,
      this.#context.secrets,
    )
    if (error.code === 'POLLUX_TOPIC_UNKNOWN') {
      this.#topics.forget(topic)
      return error
    }
    return new PolluxError('POLLUX_OUTPUT_REFUSED', `A record for topic ${topic} is refused.`, {
      ...(error.found === undefined ? {} : { found: error.found }),
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    })
  }

  readonly #closingSignal = (): boolean => this.#closing !== undefined
}

// The driver takes a Buffer without memory of its own for none at all; this one has some, and is empty.
const emptyBytes = Buffer.alloc(1).subarray(0, 0)
const noBytes = Buffer.alloc(0)

function bytesOf(bytes: Buffer | null): Buffer | null {
  return bytes !== null && bytes.length === 0 ? emptyBytes : bytes
}

function produce(
  client: DriverProducer,
  { topic, partition, key, value, timestamp, headers }: OutgoingRecord,
): void {
  if (headers.length === 0)
    client.produce(topic, partition ?? -1, bytesOf(value), bytesOf(key), timestamp)
  else {
    // Null would make the driver send the record without its headers and throw all the same.
    const given = headers.map((one) => ({ [one.name]: headerBytes(one.value) }))
    client.produce(
      topic,
      partition ?? -1,
      bytesOf(value),
      bytesOf(key),
      timestamp,
      undefined,
      given,
    )
  }
}

function headerBytes(value: Uint8Array | null): Buffer {
  if (value === null) return noBytes
  if (value.length === 0) return emptyBytes
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
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
