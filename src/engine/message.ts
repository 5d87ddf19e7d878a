import type { Codec } from '../codecs/codec.ts'
import { errorText, PolluxError } from '../errors.ts'
import type { Header, Headers, Message, RawMessage } from '../message.ts'
import type { AnyTopic } from '../topic.ts'

/**
 * Decodes a record by its topic's codecs; a promise only where a codec gives one.
 * @throws POLLUX_DECODE_FAILED naming the record and whether its key or value is at fault.
 */
export function decodeMessage(raw: RawMessage, topic: AnyTopic): Message | Promise<Message> {
  const key = decodePart('key', raw, topic.key)
  const value = decodePart('value', raw, topic.value)
  if (key instanceof Promise || value instanceof Promise) {
    return Promise.all([key, value]).then(
      (decoded) => new DecodedMessage(raw, decoded[0], decoded[1]),
    )
  }
  return new DecodedMessage(raw, key, value)
}

function decodePart(part: 'key' | 'value', raw: RawMessage, codec: Codec<unknown, never>): unknown {
  const bytes = raw[part]
  if (bytes === null) {
    if (codec.nullable) return null
    throw new PolluxError('POLLUX_DECODE_FAILED', `The ${part} of ${positionOf(raw)} is null.`, {
      expected: `what the codec ${codec.name} decodes`,
      hint: `If the topic has ${part === 'key' ? 'records without a key' : 'tombstones'}, declare it: nullable(${codec.name}).`,
    })
  }
  try {
    const decoded = codec.decode(bytes)
    return decoded instanceof Promise
      ? decoded.catch((cause: unknown) => refuse(part, raw, cause))
      : decoded
  } catch (cause) {
    return refuse(part, raw, cause)
  }
}

function refuse(part: string, raw: RawMessage, cause: unknown): never {
  throw new PolluxError(
    'POLLUX_DECODE_FAILED',
    `The ${part} of ${positionOf(raw)} cannot be decoded: ${asSentence(errorText(cause))}`,
    { hint: lookAt(raw), cause },
  )
}

/** The hint that shows the record at fault. */
export function lookAt(record: Pick<RawMessage, 'topic' | 'partition' | 'offset'>): string {
  const { topic, partition, offset } = record
  return `Look at it: pollux consume ${topic} --partition ${partition} --from ${offset} --limit 1`
}

/** The text of somebody else's error, so that a sentence may follow it. */
export function asSentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

/** `topic/partition/offset` */
export function positionOf({ topic, partition, offset }: RawMessage): string {
  return `${topic}/${partition}/${offset}`
}

class DecodedMessage implements Message {
  readonly raw: RawMessage
  readonly key: unknown
  readonly value: unknown
  #headers: Headers | undefined

  constructor(raw: RawMessage, key: unknown, value: unknown) {
    this.raw = raw
    this.key = key
    this.value = value
  }

  get topic(): string {
    return this.raw.topic
  }

  get partition(): number {
    return this.raw.partition
  }

  get offset(): bigint {
    return BigInt(this.raw.offset)
  }

  get timestamp(): number {
    return this.raw.timestamp
  }

  get tombstone(): boolean {
    return this.raw.value === null
  }

  get headers(): Headers {
    this.#headers ??= new RecordHeaders(this.raw.headers)
    return this.#headers
  }

  get id(): string {
    return identityOf(this.raw)
  }
}

/** What `Message.id` says. */
function identityOf(raw: RawMessage): string {
  if (raw.headers.length === 0) return positionOf(raw)
  const headers = new RecordHeaders(raw.headers)
  const own = headers.get('id')
  if (own) return own
  const event = headers.get('ce_id')
  if (event) return `${headers.get('ce_source') ?? ''}/${event}`
  return positionOf(raw)
}

/**
 * What a record's headers say of its event's id: `id`, else CloudEvents' source and id; undefined when there is none or
 * an empty one. NUL stands between the two parts, as a slash may be part of both.
 */
export function eventIdOf({ headers: list }: RawMessage): Buffer | undefined {
  const own = list.findLast(({ name }) => name === 'id')?.value
  // As it is where it can be: a copy of each id costs as much as the rest of this.
  if (own && own.length > 0) return Buffer.isBuffer(own) ? own : Buffer.from(own)
  if (list.length === 0) return undefined
  const headers = new RecordHeaders(list)
  const event = headers.bytes('ce_id')
  if (!event || event.length === 0) return undefined
  return Buffer.concat([headers.bytes('ce_source') ?? empty, separator, event])
}

const empty = Buffer.alloc(0)
const separator = Buffer.alloc(1)

class RecordHeaders implements Headers {
  readonly #list: readonly Header[]

  constructor(list: readonly Header[]) {
    this.#list = list
  }

  get size(): number {
    return this.#list.length
  }

  get(name: string): string | undefined {
    const value = this.bytes(name)
    return value === undefined || value === null ? undefined : Buffer.from(value).toString('utf8')
  }

  bytes(name: string): Uint8Array | null | undefined {
    return this.#list.findLast((header) => header.name === name)?.value
  }

  all(name: string): readonly (Uint8Array | null)[] {
    return this.#list.filter((header) => header.name === name).map((header) => header.value)
  }

  [Symbol.iterator](): Iterator<Header> {
    return this.#list[Symbol.iterator]()
  }
}
