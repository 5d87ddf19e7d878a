import type { RawMessage } from '../../src/message.ts'
import type { Broker, BrokerReader } from '../../src/ports/broker.ts'

/** Reads a topic from its beginning, by and by. */
export class LogReader {
  readonly #broker: Broker
  readonly #reader: BrokerReader
  readonly #topic: string
  readonly #take: (record: RawMessage) => void
  readonly #ends = new Map<number, number>()

  private constructor(
    broker: Broker,
    reader: BrokerReader,
    topic: string,
    take: (record: RawMessage) => void,
  ) {
    this.#broker = broker
    this.#reader = reader
    this.#topic = topic
    this.#take = take
  }

  static async open(
    broker: Broker,
    topic: string,
    take: (record: RawMessage) => void,
  ): Promise<LogReader> {
    const ranges = await broker.admin.ranges([topic])
    const reader = await broker.reader(
      ranges.map(({ partition, earliest }) => ({ topic, partition, offset: earliest })),
    )
    return new LogReader(broker, reader, topic, take)
  }

  /**
   * Reads what comes at once. In a log with transactions nobody can tell where the records end: those of an open one hold
   * up all that follow, and each leaves a mark at its end.
   */
  async readSome(): Promise<void> {
    for (let records = await this.#reader.poll(1_000); records.length > 0; ) {
      for (const record of records) this.#take(record)
      records = await this.#reader.poll(1_000)
    }
  }

  /** Reads up to where the log ends now. */
  async catchUp(): Promise<void> {
    const ranges = await this.#broker.admin.ranges([this.#topic])
    const isBehind = (): boolean =>
      ranges.some(({ partition, latest }) => (this.#ends.get(partition) ?? 0) < latest)
    while (isBehind()) {
      for (const record of await this.#reader.poll(1_000)) {
        this.#ends.set(record.partition, record.offset + 1)
        this.#take(record)
      }
    }
  }

  close(): Promise<void> {
    return this.#reader.close()
  }
}
