import assert from 'node:assert/strict'
import type { RawMessage } from '../../src/message.ts'
import type { Broker, BrokerProducer } from '../../src/ports/broker.ts'
import { areSettled, eventually } from '../../src/testing/index.ts'
import type { Effect } from './effects.ts'
import { LogReader } from './log-reader.ts'
import { eventOf, type ServiceNames } from './services.ts'

/** An input as it lies in its log. */
export interface Input {
  readonly event: number
  readonly key: string
  readonly value: string
  readonly partition: number
  readonly offset: number
}

/** An input to write. */
export interface NewInput {
  /** By the key when undefined. */
  readonly partition: number | undefined
  readonly key: string
  readonly value: string
  readonly id?: string
}

export interface Output {
  readonly key: string
  /** The value of the input that it comes from. */
  readonly input: string
  readonly value: string
  readonly id: string
  readonly owner: string
  /** When its handler began. */
  readonly started: number
}

/** What is right for one mechanism. */
export interface Rules {
  /** Outputs come in transactions. */
  readonly transactional?: boolean
  /** Where effects are to be seen; undefined for a service without a store. */
  readonly effects?: (() => Promise<readonly Effect[]>) | undefined
  /** Where outputs are to be seen that are stored and may not be published yet, by their inputs' values. */
  readonly stored?: (() => Promise<ReadonlySet<string>>) | undefined
  /** Why an input below the committed position is not as it should be; undefined when all is well. */
  readonly unsettled: (input: Input, seen: Seen) => string | undefined
  /** What must hold of all that is there, at any time. */
  readonly always?: (seen: Seen) => void
  /** What must hold once all is settled. */
  readonly finally: (seen: Seen) => void | Promise<void>
}

/** All that is there to see. */
export interface Seen {
  readonly inputs: readonly Input[]
  readonly effects: readonly Effect[]
  /** In the order of each partition; copies included. */
  readonly outputs: readonly Output[]
  /** The values of the inputs that have outputs. */
  readonly published: ReadonlySet<string>
  /** The values of the inputs whose outputs are in the store. */
  readonly stored: ReadonlySet<string>
  /** The values of the inputs that have effects. */
  readonly applied: ReadonlySet<string>
}

/** Feeds the input of a service, and judges from outside what the service has made of it. */
export class Witness {
  readonly #broker: Broker
  readonly #names: ServiceNames
  readonly #rules: Rules
  readonly #inputs: Input[] = []
  readonly #outputs: Output[] = []
  readonly #published = new Set<string>()
  #producer: BrokerProducer | undefined
  #inputReader: LogReader | undefined
  #outputReader: LogReader | undefined
  #isWritten: Promise<unknown> = Promise.resolve()

  constructor(broker: Broker, names: ServiceNames, rules: Rules) {
    this.#broker = broker
    this.#names = names
    this.#rules = rules
  }

  async open(partitions: number): Promise<void> {
    const { input, output } = this.#names
    await this.#broker.connect()
    await this.#broker.admin.createTopics([input, output].map((name) => ({ name, partitions })))
    this.#producer = await this.#broker.producer()
    this.#inputReader = await LogReader.open(this.#broker, input, (record) =>
      this.#takeInput(record),
    )
    this.#outputReader = await LogReader.open(this.#broker, output, (record) =>
      this.#takeOutput(record),
    )
  }

  /** Writes inputs, one call after the other. */
  write(inputs: readonly NewInput[]): Promise<void> {
    const records = inputs.map(({ partition, key, value, id }) => ({
      topic: this.#names.input,
      partition,
      key: Buffer.from(key),
      value: Buffer.from(value),
      headers: id === undefined ? [] : [{ name: 'id', value: Buffer.from(id) }],
      timestamp: undefined,
    }))
    const written = this.#isWritten.then(async () => {
      assert.deepEqual(await this.#producer?.send(records), [])
    })
    this.#isWritten = written
    return written
  }

  #takeInput({ partition, offset, key, value }: RawMessage): void {
    const text = `${value}`
    this.#inputs.push({ event: eventOf(text), key: `${key}`, value: text, partition, offset })
  }

  #takeOutput({ key, value, headers }: RawMessage): void {
    if (key === null) {
      this.#ends += 1
      return
    }
    const header = (name: string): string =>
      `${headers.find((one) => one.name === name)?.value ?? ''}`
    const [input = ''] = `${value}`.split(' ')
    this.#outputs.push({
      key: `${key}`,
      input,
      value: `${value}`,
      id: header('id'),
      owner: header('owner'),
      started: Number(header('started')),
    })
    this.#published.add(input)
  }

  /** What must hold at any time, whoever has died. */
  check(): Promise<void> {
    // Readers take one poll at a time.
    const check = this.#checking.then(() => this.#check())
    this.#checking = check.catch(() => {})
    return check
  }

  #checking: Promise<void> = Promise.resolve()

  async #check(): Promise<void> {
    // Positions first: what is committed now must have had its effects and outputs by now.
    const { offsets } = await this.#broker.admin.group(this.#names.group)
    const seen = await this.#look()
    const ends = new Map(offsets.map(({ partition, offset }) => [partition, offset]))
    for (const input of seen.inputs) {
      const end = ends.get(input.partition) ?? 0
      if (input.offset >= end) continue
      const problem = this.#rules.unsettled(input, seen)
      if (problem === undefined) continue
      const place = `${input.partition}/${input.offset} (${input.value} of ${input.key})`
      assert.fail(`The group's position is ${input.partition}/${end}, but ${place} ${problem}`)
    }
    checkIds(seen.outputs)
    this.#rules.always?.(seen)
  }

  /** All that is there now. */
  async #look(): Promise<Seen> {
    // What leaves the store has come to its topic before.
    const stored = (await this.#rules.stored?.()) ?? new Set()
    await this.#inputReader?.catchUp()
    if (this.#rules.transactional === true) await this.#outputReader?.readSome()
    else await this.#outputReader?.catchUp()
    const effects = await this.effects()
    return {
      inputs: this.#inputs,
      effects,
      outputs: this.#outputs,
      stored,
      published: this.#published,
      applied: new Set(effects.map(({ value }) => value)),
    }
  }

  /** What handlers have written down in the store; nothing without one. */
  async effects(): Promise<readonly Effect[]> {
    return (await this.#rules.effects?.()) ?? []
  }

  /** What is to be seen of handlers: their effects, or in transactions their outputs. */
  async traces(): Promise<readonly Pick<Effect, 'value' | 'owner' | 'started'>[]> {
    return this.#rules.transactional === true ? (await this.#look()).outputs : await this.effects()
  }

  /** No partition is stuck. */
  isSettled(): Promise<boolean> {
    const { input, group } = this.#names
    return areSettled(this.#broker, [{ name: group, inputs: [{ name: input }] }])
  }

  #ends = 0

  /** Writes a record without a key behind all that there is, and reads up to it. */
  async #readToTheEnd(): Promise<void> {
    const { output } = this.#names
    const ranges = await this.#broker.admin.ranges([output])
    const rest = { topic: output, key: null, value: null, headers: [], timestamp: undefined }
    await this.#producer?.send(ranges.map(({ partition }) => ({ ...rest, partition })))
    const wanted = this.#ends + ranges.length
    await eventually('no transaction is open any more', async () => {
      await this.#outputReader?.readSome()
      return this.#ends === wanted
    })
  }

  /** What must hold in the end. */
  async checkAll(): Promise<void> {
    assert.ok(await this.isSettled(), 'the group has come to the end of all logs')
    if (this.#rules.transactional === true) await this.#readToTheEnd()
    await this.check()
    await this.#rules.finally(await this.#look())
  }

  async close(): Promise<void> {
    await this.#inputReader?.close()
    await this.#outputReader?.close()
    await this.#producer?.close()
    await this.#broker.close()
  }
}

/** One id never names two contents. */
function checkIds(outputs: readonly Output[]): void {
  const contents = new Map<string, string>()
  for (const { id, key, value } of outputs) {
    assert.notEqual(id, '', `the output ${value} has no id`)
    const content = `${key}: ${value}`
    assert.equal(contents.get(id) ?? content, content, `${id} names two contents`)
    contents.set(id, content)
  }
}
