import assert from 'node:assert/strict'
import { embeddedBroker, sharedMemory } from '../../../src/embedded/index.ts'
import { encodeRecord } from '../../../src/engine/outputs.ts'
import type { Runtime } from '../../../src/engine/runtime.ts'
import type { OutputMessage, Service } from '../../../src/index.ts'
import type { RawMessage } from '../../../src/message.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { RuntimeOptions } from '../../../src/runtime-options.ts'
import {
  eventually,
  ManualClock,
  MemoryStoreData,
  memoryStore,
} from '../../../src/testing/index.ts'
import { type BrokerWatch, watchedBroker } from '../../../src/testing/watched-broker.ts'
import type { AnyTopic } from '../../../src/topic.ts'
import { Life } from './life.ts'
import { mortalRuntime } from './process.ts'

/** How a process is different from others. */
export interface ProcessDoings {
  /** What is seen of, and done to, its traffic with the broker. */
  readonly watch?: BrokerWatch
  /** What is done to its store. */
  readonly store?: (store: Store) => Store
  readonly life?: Life
  readonly options?: RuntimeOptions
}

/** A broker and a store that outlive the processes on them. The store is in memory unless another is given. */
export class Cluster {
  readonly memory = sharedMemory()
  readonly data = new MemoryStoreData()
  readonly clock = new ManualClock()
  readonly admin = embeddedBroker({ memory: this.memory }).admin
  readonly #newStore: () => Store
  readonly #lives: Life[] = []
  readonly #stores: Store[] = []

  constructor(newStore?: () => Store) {
    this.#newStore = newStore ?? (() => memoryStore(this.data, this.clock))
  }

  /** Starts a service in a process of its own. Its topics are to be there. */
  async start(service: Service, doings: ProcessDoings = {}): Promise<Runtime> {
    const { watch = {}, store = (given) => given, life = new Life(), options = {} } = doings
    const { memory, clock } = this
    const own = this.#newStore()
    const runtime = mortalRuntime({
      service,
      broker: watchedBroker(embeddedBroker({ memory, clock }), watch),
      lastWords: watchedBroker(embeddedBroker({ memory, clock }), watch),
      store: store(own),
      clock,
      life,
      options,
    })
    runtime.done.catch(() => {})
    this.#lives.push(life)
    this.#stores.push(own)
    await Promise.race([runtime.start(), life.death])
    return runtime
  }

  async createTopics(...topics: readonly AnyTopic[]): Promise<void> {
    await this.admin.createTopics(
      topics.map(({ name, create }) => ({ name, partitions: create.partitions ?? 1 })),
    )
  }

  async send(...messages: readonly OutputMessage[]): Promise<void> {
    const producer = await embeddedBroker({ memory: this.memory }).producer()
    for (const message of messages)
      assert.deepEqual(await producer.send([encodeRecord(message)]), [])
    await producer.close()
  }

  /** All records of a topic, by partition and offset. */
  async records({ name }: AnyTopic): Promise<RawMessage[]> {
    const ranges = await this.admin.ranges([name])
    const reader = await embeddedBroker({ memory: this.memory }).reader(
      ranges.map(({ topic, partition }) => ({ topic, partition, offset: 0 })),
    )
    const wanted = ranges.reduce((sum, { latest }) => sum + latest, 0)
    const records: RawMessage[] = []
    while (records.length < wanted) records.push(...(await reader.poll(1_000)))
    await reader.close()
    return records.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset)
  }

  async values(topic: AnyTopic): Promise<string[]> {
    return (await this.records(topic)).map(({ value }) => String(value))
  }

  /** Everything that a service reads is settled, and the group knows. */
  async isSettled({ name, inputs }: Service): Promise<boolean> {
    const ranges = await this.admin.ranges(inputs.map((input) => input.name))
    const { offsets } = await this.admin.group(name)
    return ranges.every(({ topic, partition, latest }) =>
      offsets.some(
        (one) => one.topic === topic && one.partition === partition && one.offset === latest,
      ),
    )
  }

  /** What the store in memory keeps of a partition. */
  row(service: Service, { name }: AnyTopic, partition = 0) {
    return this.data.ledger.get(JSON.stringify([service.name, name, partition]))
  }

  /** The state in the store in memory. */
  state(service: Service, key: string): string | undefined {
    const name = JSON.stringify([service.name, Buffer.from(key).toString('base64')])
    return this.data.states.get(name)?.value?.toString()
  }

  /** Moves the clock, by `step` milliseconds each time, until something has come about. */
  async until(what: string, look: () => boolean | Promise<boolean>, step = 200): Promise<void> {
    await eventually(what, async () => {
      await this.clock.advance(step)
      return await look()
    })
  }

  /** Nothing of what still runs outlives the test, however it hangs. */
  [Symbol.dispose](): void {
    for (const life of this.#lives) life.end()
    for (const store of this.#stores) void store.close().catch(() => {})
  }
}
