import assert from 'node:assert/strict'
import type { RawMessage } from '../../src/message.ts'
import type { Broker, BrokerProducer, BrokerReader } from '../../src/ports/broker.ts'

interface Seen {
  readonly id: string
  readonly key: string
}

/** Feeds the input of a copying service, and judges from outside what the service has made of it. */
export class Witness {
  readonly #broker: Broker
  readonly #input: string
  readonly #output: string
  readonly #group: string
  #producer: BrokerProducer | undefined
  #inputs: BrokerReader | undefined
  #outputs: BrokerReader | undefined
  #next = 0
  /** Inputs by their place. */
  readonly #places = new Map<string, Seen>()
  readonly #firsts: Seen[] = []
  readonly #found = new Set<string>()
  /** All copies, first or not. */
  copies = 0

  constructor(
    broker: Broker,
    names: { readonly input: string; readonly output: string; readonly group: string },
  ) {
    this.#broker = broker
    this.#input = names.input
    this.#output = names.output
    this.#group = names.group
  }

  async open(partitions: number): Promise<void> {
    const topics = [this.#input, this.#output]
    await this.#broker.connect()
    await this.#broker.admin.createTopics(topics.map((name) => ({ name, partitions })))
    this.#producer = await this.#broker.producer()
    const from = (topic: string) =>
      Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: 0 }))
    this.#inputs = await this.#broker.reader(from(this.#input))
    this.#outputs = await this.#broker.reader(from(this.#output))
  }

  /** Writes messages, the keys taking turns. */
  async feed(count: number, keys: number): Promise<void> {
    const records = Array.from({ length: count }, () => {
      const id = this.#next
      this.#next += 1
      return {
        topic: this.#input,
        partition: undefined,
        key: Buffer.from(`k${(id * 7) % keys}`),
        value: Buffer.from(`${id}`),
        headers: [],
        timestamp: undefined,
      }
    })
    assert.deepEqual(await this.#producer?.send(records), [])
  }

  get total(): number {
    return this.#next
  }

  /** How many of each key there are. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { key } of this.#places.values()) counts.set(key, (counts.get(key) ?? 0) + 1)
    return counts
  }

  /** No position was committed that lies behind an input without output. */
  checkCommitted(): Promise<void> {
    // Readers take one poll at a time.
    const check = this.#checking.then(() => this.#checkCommitted())
    this.#checking = check.catch(() => {})
    return check
  }

  #checking: Promise<void> = Promise.resolve()

  async #checkCommitted(): Promise<void> {
    // Positions first: what is committed now must have had its outputs by now.
    const { offsets } = await this.#broker.admin.group(this.#group)
    await this.#catchUp()
    for (const { partition, offset } of offsets) {
      for (let before = 0; before < offset; before += 1) {
        const input = this.#places.get(`${partition}/${before}`)
        assert.ok(input, `input ${partition}/${before} was read`)
        assert.ok(
          this.#found.has(input.id),
          `partition ${partition} is committed up to ${offset}, but ${before} (${input.id}) has no output`,
        )
      }
    }
  }

  /** Whether all that was fed is committed. */
  async isSettled(): Promise<boolean> {
    const { offsets } = await this.#broker.admin.group(this.#group)
    return offsets.reduce((sum, { offset }) => sum + offset, 0) === this.#next
  }

  /** Nothing is missing, and each key's first copies came in order. */
  async checkAll(): Promise<void> {
    await this.checkCommitted()
    assert.equal(this.#found.size, this.#next, 'each input has its output')
    const last = new Map<string, number>()
    for (const { id, key } of this.#firsts) {
      assert.ok(Number(id) > (last.get(key) ?? -1), `${key}: ${id} came after ${last.get(key)}`)
      last.set(key, Number(id))
    }
  }

  async #catchUp(): Promise<void> {
    await this.#read(this.#inputs, this.#input, ({ partition, offset, key, value }) => {
      this.#places.set(`${partition}/${offset}`, { id: `${value}`, key: `${key}` })
    })
    await this.#read(this.#outputs, this.#output, ({ key, value }) => {
      this.copies += 1
      if (this.#found.has(`${value}`)) return
      this.#found.add(`${value}`)
      this.#firsts.push({ id: `${value}`, key: `${key}` })
    })
  }

  readonly #ends = new Map<string, number>()

  /** Reads up to where the log ends now. */
  async #read(
    reader: BrokerReader | undefined,
    topic: string,
    take: (record: RawMessage) => void,
  ): Promise<void> {
    const ranges = await this.#broker.admin.ranges([topic])
    const isBehind = (): boolean =>
      ranges.some(
        ({ partition, latest }) => (this.#ends.get(`${topic}/${partition}`) ?? 0) < latest,
      )
    while (isBehind()) {
      for (const record of (await reader?.poll(1_000)) ?? []) {
        this.#ends.set(`${topic}/${record.partition}`, record.offset + 1)
        take(record)
      }
    }
  }

  async close(): Promise<void> {
    await this.#inputs?.close()
    await this.#outputs?.close()
    await this.#producer?.close()
    await this.#broker.close()
  }
}
