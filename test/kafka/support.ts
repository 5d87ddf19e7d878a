import { type KafkaOptions, kafka } from '../../src/kafka/index.ts'
import type { Broker, GroupListener, OutgoingRecord } from '../../src/ports/broker.ts'
import type { Logger } from '../../src/ports/logger.ts'

/** The broker that tests run against. */
export const brokers: readonly string[] = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(
  ',',
)

let count = 0

/** A name that nothing has yet. */
export function uniqueName(what: string): string {
  count += 1
  return `${what}-${process.pid}-${Date.now()}-${count}`
}

/** A connection with short heartbeats, so that rebalances are quick. */
export function connection(options: Partial<KafkaOptions> = {}): Broker {
  return kafka({
    brokers,
    ...options,
    consumer: { 'heartbeat.interval.ms': 300, ...options.consumer },
  })
}

export const idle: GroupListener = {
  assigned: async () => [],
  revoked: async () => {},
  lost: () => {},
}

/** A logger that keeps its lines, as they would be printed. */
export function keepingLogger(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = []
  const keep =
    (level: string) =>
    (fields: object, message: string): void =>
      void lines.push(`${level} ${JSON.stringify(fields)} ${message}`)
  return {
    lines,
    logger: { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') },
  }
}

export function record(
  topic: string,
  fields: Partial<OutgoingRecord> & { readonly text?: string } = {},
): OutgoingRecord {
  const { text, ...given } = fields
  return {
    topic,
    partition: 0,
    key: null,
    value: text === undefined ? null : Buffer.from(text),
    headers: [],
    timestamp: undefined,
    ...given,
  }
}

/** Makes a topic and waits until it is known. */
export async function makeTopic(
  broker: Broker,
  name: string,
  partitions: number,
  config?: Readonly<Record<string, string>>,
): Promise<string> {
  await broker.admin.createTopics([{ name, partitions, config }])
  const deadline = Date.now() + 20_000
  while (
    !(await broker.admin.topics()).some(
      (topic) => topic.name === name && topic.partitions === partitions,
    )
  ) {
    if (Date.now() > deadline) throw new Error(`Topic ${name} does not appear`)
  }
  return name
}
