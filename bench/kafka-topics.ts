import kafkaClient from '@confluentinc/kafka-javascript'
import { kafka } from '../src/kafka/index.ts'
import type { OutgoingRecord } from '../src/ports/broker.ts'
import { eventually } from '../src/testing/eventually.ts'

export const brokers: string[] = (process.env.KAFKA_BROKERS ?? '127.0.0.1:9092').split(',')

/** Of every topic. */
export const partitions = 8

/** Makes topics that keep no more than the benchmark needs. */
export async function makeTopics(...names: readonly string[]): Promise<void> {
  const broker = kafka({ brokers })
  const config = {
    'retention.bytes': String(128 * 1024 ** 2),
    'segment.bytes': String(32 * 1024 ** 2),
  }
  await broker.connect()
  await broker.admin.createTopics(names.map((name) => ({ name, partitions, config })))
  await broker.close()
}

/** Writes records number 0 to `count`. */
export async function fill(
  count: number,
  record: (index: number) => OutgoingRecord,
): Promise<void> {
  const broker = kafka({ brokers })
  await broker.connect()
  const producer = await broker.producer()
  const slice = 5_000
  for (let from = 0; from < count; from += slice) {
    const length = Math.min(slice, count - from)
    await producer.send(Array.from({ length }, (_, index) => record(from + index)))
  }
  await broker.close()
}

/** Removes groups and topics. Pollux's own port cannot, as no service needs it. */
export async function removeFromKafka(
  groups: readonly string[],
  topics: readonly string[],
): Promise<void> {
  const admin = kafkaClient.AdminClient.create({ 'bootstrap.servers': brokers.join(',') })
  try {
    for (const topic of topics) {
      await new Promise<void>((resolve, reject) => {
        admin.deleteTopic(topic, 10_000, (error: unknown) =>
          error === undefined || error === null ? resolve() : reject(error),
        )
      })
    }
    // A group may be deleted once its members are gone, which the broker may not have noticed yet.
    for (const group of groups)
      await eventually(`the group ${group} can be deleted`, () => deleteGroup(admin, group))
  } finally {
    admin.disconnect()
  }
}

function deleteGroup(admin: kafkaClient.IAdminClient, group: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    admin.deleteGroups([group], {}, (error, [result]) => {
      const cause = error ?? result?.error
      if (cause === undefined || cause === null || cause.code === groupIsUnknown) resolve(true)
      else reject(new Error(cause.message))
    })
  })
}

const groupIsUnknown = 69
