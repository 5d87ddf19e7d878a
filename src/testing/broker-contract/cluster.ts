import type { RawMessage } from '../../message.ts'
import type { Broker, BrokerReader, OutgoingRecord, Position } from '../../ports/broker.ts'
import { eventually, within } from '../eventually.ts'

/** What an adapter's test gives to the contract. */
export interface BrokerSetup {
  /** A fresh, connected connection to the same cluster. The suite closes it. */
  broker(): Promise<Broker>
  /** A name that no topic and no group of the cluster has yet. */
  uniqueName(): string
  /** Runs once, at the end. */
  cleanup(): Promise<void>
}

/** What the tests of the contract work with; one for each test. */
export class ContractCluster {
  readonly deadline: number
  /** Bytes of the largest value the brokers take; undefined when there is no limit. */
  readonly maxRecordBytes: number | undefined
  readonly #setup: BrokerSetup
  readonly #opened: Broker[] = []
  readonly #ends: (() => Promise<unknown>)[] = []

  constructor(setup: BrokerSetup, deadline: number, maxRecordBytes: number | undefined) {
    this.#setup = setup
    this.deadline = deadline
    this.maxRecordBytes = maxRecordBytes
  }

  /** A connection that is closed after the test. */
  async broker(): Promise<Broker> {
    const broker = await this.within('a connection', this.#setup.broker())
    this.#opened.push(broker)
    return broker
  }

  uniqueName(): string {
    return this.#setup.uniqueName()
  }

  /** A new topic's name. */
  async topic(partitions: number, config?: Readonly<Record<string, string>>): Promise<string> {
    const name = this.uniqueName()
    const broker = await this.broker()
    await this.within('createTopics', broker.admin.createTopics([{ name, partitions, config }]))
    // A cluster may need a moment until all of it knows the topic.
    await this.eventually(`topic ${name} is known`, async () => {
      const topics = await broker.admin.topics()
      return topics.some((topic) => topic.name === name && topic.partitions === partitions)
    })
    return name
  }

  /** Sends and expects no refusal. */
  async send(records: readonly OutgoingRecord[]): Promise<void> {
    const broker = await this.broker()
    const producer = await broker.producer()
    const refusals = await this.within('send', producer.send(records))
    await producer.close()
    const [first] = refusals
    if (first !== undefined) throw first.error
  }

  /** Reads from `from` until `count` records are there. */
  async read(from: readonly Position[], count: number): Promise<RawMessage[]> {
    const broker = await this.broker()
    const reader = await broker.reader(from)
    const records = await this.take(reader, count)
    await reader.close()
    return records
  }

  /** Polls a reader or member until `count` records are there. */
  async take(reader: Pick<BrokerReader, 'poll'>, count: number): Promise<RawMessage[]> {
    const records: RawMessage[] = []
    await this.eventually(`${count} records are read`, async () => {
      if (records.length < count) {
        records.push(...(await this.within('poll', reader.poll(count - records.length))))
      }
      return records.length >= count
    })
    return records
  }

  /** Runs when the test is over, beside the others, before connections are closed. */
  defer(end: () => Promise<unknown>): void {
    this.#ends.push(end)
  }

  eventually<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
    return eventually(what, look, { deadline: this.deadline })
  }

  within<T>(what: string, promise: Promise<T>): Promise<T> {
    return within(what, promise, this.deadline)
  }

  async end(): Promise<void> {
    await this.within('clean-up of the test', Promise.all(this.#ends.map((end) => end())))
    await this.within('close', Promise.all(this.#opened.map((broker) => broker.close())))
  }
}

/** One test of the contract. */
export interface ContractTest {
  /** A sentence of behaviour; what a skip names. */
  readonly title: string
  run(cluster: ContractCluster): Promise<void>
}

/** A record with defaults: partition 0, no key, no headers, timestamp by the broker. */
export function record(
  topic: string,
  fields: Partial<OutgoingRecord> & { readonly text?: string },
): OutgoingRecord {
  const { text, ...given } = fields
  return {
    topic,
    partition: 'partition' in fields ? fields.partition : 0,
    key: null,
    value: text === undefined ? null : Buffer.from(text),
    headers: [],
    timestamp: undefined,
    ...given,
  }
}

/** Records `<prefix>0`, `<prefix>1`, … for one partition. */
export function numbered(
  topic: string,
  count: number,
  partition = 0,
  prefix = '',
): OutgoingRecord[] {
  return Array.from({ length: count }, (_, index) =>
    record(topic, { partition, text: `${prefix}${index}` }),
  )
}

/** The values as text. */
export function texts(records: readonly RawMessage[]): (string | null)[] {
  return records.map(({ value }) => value?.toString() ?? null)
}

/** The positions 0 of a topic's first partitions. */
export function beginnings(topic: string, partitions = 1): Position[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: 0 }))
}
