import { PolluxError } from '../errors.ts'
import type { Header, RawMessage } from '../message.ts'
import type { DriverMessage } from './driver.ts'

/** A record as the driver gave it. Headers are converted when they are asked for: most handlers never do. */
class KafkaMessage implements RawMessage {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  #headers: readonly Header[] | undefined
  #given: DriverMessage['headers']

  constructor(topic: string, given: DriverMessage) {
    this.topic = topic
    this.partition = given.partition
    this.offset = given.offset
    this.timestamp = given.timestamp
    this.key = given.key
    this.value = given.value
    this.#given = given.headers
  }

  get headers(): readonly Header[] {
    this.#headers ??= convert(this.#given)
    this.#given = undefined
    return this.#headers
  }
}

const none: readonly Header[] = []

function convert(given: DriverMessage['headers']): readonly Header[] {
  if (given === undefined) return none
  const headers: Header[] = []
  for (const one of given) headers.push(convertHeader(one))
  return headers
}

/** The driver gives an object of one property for each header. */
function convertHeader(given: Readonly<Record<string, Buffer>>): Header {
  const [name] = Object.keys(given)
  if (name !== undefined) return { name, value: given[name] ?? null }
  // A header may be called so; the driver's assignment then set the object's prototype instead of a property.
  return { name: '__proto__', value: Object.getPrototypeOf(given) as Buffer }
}

/**
 * The records in Pollux' form.
 * @throws POLLUX_OFFSET_UNSAFE
 */
export function convertMessages(given: readonly DriverMessage[]): RawMessage[] {
  const messages: RawMessage[] = []
  // The driver makes a new string of the topic's name for each record. With one string for all of a run, looking
  // it up in a Map costs a comparison of pointers.
  let topic = ''
  for (const one of given) {
    if (one.topic !== topic) topic = one.topic
    if (!Number.isSafeInteger(one.offset)) throw unsafe(one)
    messages.push(new KafkaMessage(topic, one))
  }
  return messages
}

function unsafe({ topic, partition, offset }: DriverMessage): PolluxError {
  return new PolluxError(
    'POLLUX_OFFSET_UNSAFE',
    `A record of ${topic}/${partition} has an offset that would be rounded.`,
    {
      expected: `at most ${Number.MAX_SAFE_INTEGER}`,
      found: `about ${offset}`,
    },
  )
}
