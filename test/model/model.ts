import { type Protocol, protocol as wholeProtocol } from './protocol.ts'

/** A record of the input. Others name it by its place in the list of all: m0, m1, … */
export interface Message {
  readonly partition: number
  readonly offset: number
  readonly key: string
  /** Two messages with the same one are copies of an event. */
  readonly id: string
  /** `poison` is refused by the store whenever it is tried; `parking` fails at first, and succeeds when it is drained. */
  readonly nature: 'plain' | 'poison' | 'parking'
}

/** How often each thing may go wrong in one run. */
export interface Faults {
  /** The group moves a partition, and its owner does not notice. */
  move: number
  /** A process dies at once. */
  kill: number
  /** A commit's answer does not come: its request is still on its way, or lost. */
  lostAnswer: number
  /** Outputs on their way are not acknowledged. */
  failedSend: number
  /** The window of deduplication passes, and clean-up runs. */
  cleanUp: number
  /** A process stops for ever without dying, with its transaction open. */
  freeze: number
  /** The database fails over to a copy that lacks the last commit. */
  failOver: number
}

/** What is explored: these messages, handled by two members, with these faults at any moment. */
export interface Configuration {
  readonly messages: readonly Message[]
  readonly faults: Partial<Faults>
  /** Where it differs from what Pollux does. */
  readonly protocol?: Partial<Protocol>
  /** The member (0 or 1) that has each partition at first. Default: 0 for all. */
  readonly owners?: readonly number[]
  /** Demands that the last record of each key is its newest output. Not so after a late send of a former owner. */
  readonly expectsNewestLast?: boolean
}

/** The messages of one partition, in order: key, id and, when it is not plain, nature. */
export function inPartition(
  partition: number,
  ...messages: readonly (readonly [key: string, id: string, nature?: Message['nature']])[]
): readonly Message[] {
  return messages.map(([key, id, nature = 'plain'], offset) => {
    return { partition, offset, key, id, nature }
  })
}

/** A configuration with all that follows from it. Messages, partitions, keys and lanes are numbers from 0. */
export class Model {
  readonly protocol: Protocol
  readonly faults: Faults
  readonly expectsNewestLast: boolean
  readonly owners: readonly number[]
  readonly messages: readonly number[]
  /** Each partition's messages in the order of their offsets. */
  readonly partitions: readonly (readonly number[])[]
  readonly keys: readonly string[]
  readonly laneCount: number
  readonly #messages: readonly Message[]
  readonly #earlier: readonly (readonly number[])[]
  readonly #copies: readonly (readonly number[])[]
  readonly #lanes: readonly number[]

  constructor({ messages, faults, protocol, owners, expectsNewestLast }: Configuration) {
    this.protocol = { ...wholeProtocol, ...protocol }
    this.faults = { ...noFaults, ...faults }
    this.expectsNewestLast = expectsNewestLast ?? false
    this.#messages = messages
    this.messages = [...messages.keys()]
    const count = Math.max(...messages.map(({ partition }) => partition)) + 1
    this.partitions = Array.from({ length: count }, (_, partition) =>
      this.messages.filter((message) => this.message(message).partition === partition),
    )
    this.owners = owners ?? this.partitions.map(() => 0)
    this.keys = [...new Set(messages.map(({ key }) => key))]
    const lanes = [...new Set(messages.map(laneName))]
    this.laneCount = lanes.length
    this.#lanes = messages.map((message) => lanes.indexOf(laneName(message)))
    this.#earlier = this.messages.map((message) =>
      this.messages.filter(
        (other) => other < message && this.laneOf(other) === this.laneOf(message),
      ),
    )
    const byId = this.protocol.idempotency === 'event id'
    this.#copies = messages.map(({ id }, message) =>
      byId ? this.messages.filter((other) => this.message(other).id === id) : [message],
    )
  }

  message(message: number): Message {
    return at(this.#messages, message)
  }

  keyOf(message: number): number {
    return this.keys.indexOf(this.message(message).key)
  }

  /** The messages of one key in one partition are a lane. */
  laneOf(message: number): number {
    return at(this.#lanes, message)
  }

  /** The earlier messages of its lane. */
  earlierInLane(message: number): readonly number[] {
    return at(this.#earlier, message)
  }

  /** All messages that stand for the same event, itself included. */
  copiesOf(message: number): readonly number[] {
    return at(this.#copies, message)
  }
}

const noFaults: Faults = {
  move: 0,
  kill: 0,
  lostAnswer: 0,
  failedSend: 0,
  cleanUp: 0,
  freeze: 0,
  failOver: 0,
}

function laneName({ partition, key }: Message): string {
  return `${partition} ${key}`
}

/** An item that is there: numbers are indexes here throughout, and a wrong one is a mistake in the model. */
export function at<T>(items: readonly T[], index: number): T {
  const item = items[index]
  if (item === undefined) throw new Error(`The model has no item ${index} among ${items.length}.`)
  return item
}
