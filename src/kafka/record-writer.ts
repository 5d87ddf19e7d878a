import { setImmediate as turn } from 'node:timers/promises'
import { PolluxError } from '../errors.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import type { ConnectedClient, ConnectionContext } from './connect-client.ts'
import type { ConnectionLog } from './connection-log.ts'
import type { DriverError, DriverProducer } from './driver.ts'
import { brokerError, closedError, errorNumber, kafkaErrors } from './errors.ts'
import { checkSize } from './record-size.ts'
import { Reports } from './reports.ts'
import { TopicPartitions } from './topic-partitions.ts'

// More in one go would fill librdkafka's queue and block the event loop for too long.
export const mostAtOnce = 5_000

/** Records that can be written, and why the others cannot; by their places in the batch. */
export interface SortedRecords {
  readonly places: readonly number[]
  readonly refused: Map<number, Error>
}

/**
 * Hands records to the driver and waits until all are acknowledged. Librdkafka tells us of refused records only; that
 * all others are written, we know from `flush`: it returns without a time-out when nothing is outstanding any more.
 */
export class RecordWriter {
  readonly #client: DriverProducer
  readonly #log: ConnectionLog
  readonly #context: ConnectionContext
  readonly #maxBytes: number
  readonly #isClosing: () => boolean
  readonly #reports = new Reports()
  readonly #topics: TopicPartitions

  constructor(
    connected: ConnectedClient<DriverProducer>,
    context: ConnectionContext,
    maxBytes: number,
    isClosing: () => boolean,
  ) {
    this.#client = connected.client
    this.#log = connected.log
    this.#context = context
    this.#maxBytes = maxBytes
    this.#isClosing = isClosing
    this.#topics = new TopicPartitions(this.#client, context)
    this.#client.on('delivery-report', (error, report) => {
      if (error !== null && error !== undefined) this.#reports.add(error, report)
    })
    // Reports come with `flush`; between batches only news of the connection waits in the queue.
    this.#client.setPollInterval(1_000)
  }

  /** Tells records that the broker may take from those it would refuse for sure. */
  async sort(records: readonly OutgoingRecord[]): Promise<SortedRecords> {
    await this.#topics.load(records, this.#isClosing)
    const places: number[] = []
    const refused = new Map<number, Error>()
    for (const [place, record] of records.entries()) {
      const error = checkSize(record, this.#maxBytes) ?? this.#topics.check(record)
      if (error === undefined) places.push(place)
      else refused.set(place, error)
    }
    return { places, refused }
  }

  /** Writes the records at these places. Resolves with the errors of those that were not written. */
  async write(
    records: readonly OutgoingRecord[],
    places: readonly number[],
  ): Promise<Map<number, DriverError>> {
    const failed = new Map<number, DriverError>()
    for (let from = 0; from < places.length; from += mostAtOnce) {
      const part = places.length <= mostAtOnce ? places : places.slice(from, from + mostAtOnce)
      for (const [place, error] of await this.#writePart(records, part)) failed.set(place, error)
    }
    return failed
  }

  async #writePart(
    records: readonly OutgoingRecord[],
    places: readonly number[],
  ): Promise<Map<number, DriverError>> {
    const failed = new Map<number, DriverError>()
    for (const place of places) {
      const full = this.#produce(records[place] as OutgoingRecord, place, failed)
      if (full !== undefined) await full
    }
    await this.#acknowledged()
    if (this.#reports.count > 0) {
      for (const [place, error] of this.#reports.take(records, places)) failed.set(place, error)
    }
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
   * for written records no report comes: so it is called with a short time at first, for longer than most answers take.
   */
  async #acknowledged(): Promise<void> {
    for (let slices = 0; ; slices += 1) {
      const slice = slices < 8 ? 1 : Math.min(10, slices - 6)
      const error = await new Promise<unknown>((resolve) => this.#client.flush(slice, resolve))
      if (error === null || error === undefined) break
      if (errorNumber(error) !== kafkaErrors.timedOut)
        throw brokerError('Records cannot be sent', error, this.#context.secrets)
      if (this.#isClosing() || this.#context.closed.aborted) throw closedError('A producer')
    }
    this.#log.isUp()
    // Reports were queued for this thread before `flush` came back, a hundred for each turn of the event loop.
    for (let before = -1; before < this.#reports.count; ) {
      before = this.#reports.count
      await turn()
      await turn()
    }
  }

  /** What an error of `write` means to whoever gave the record. */
  refusal(topic: string, cause: DriverError): Error {
    const what = `A record for topic ${topic} is refused`
    const error = brokerError(what, cause, this.#context.secrets)
    if (error.code === 'POLLUX_TOPIC_UNKNOWN') {
      // The topic was deleted, it seems.
      this.#topics.forget(topic)
      return error
    }
    const code = isTooLarge(cause) ? 'POLLUX_RECORD_TOO_LARGE' : 'POLLUX_OUTPUT_REFUSED'
    return new PolluxError(code, `${what}.`, {
      ...(error.found === undefined ? {} : { found: error.found }),
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    })
  }
}

/** True when the broker found a record too large, or all that were sent together with it. */
export function isTooLarge(error: DriverError): boolean {
  return error.code === kafkaErrors.messageTooLarge || error.code === kafkaErrors.recordListTooLarge
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
