import { crc32 } from 'node:zlib'
import { errorText, PolluxError, shown } from '../errors.ts'
import type { Header } from '../message.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import type { Service } from '../service.ts'
import type { AnyTopic, OutputFields, OutputHeaders, OutputMessage } from '../topic.ts'
import { inputIdentity } from './identity.ts'
import type { Partition, Work } from './partition.ts'

const none: readonly OutgoingRecord[] = []

/**
 * The records of what a handler returned.
 * @throws POLLUX_OUTPUT_UNDECLARED, POLLUX_ENCODE_FAILED
 */
export function encodeOutputs(
  service: Service,
  work: Work,
  returned: unknown,
): readonly OutgoingRecord[] {
  return encodeAll(service, returned, () => {
    const isDirect = service.options.publish === 'direct'
    return inputIdentity(work, isDirect || service.idempotency?.by === 'event-id')
  })
}

/**
 * The records of what a scheduled run returned for the next unit of a partition. They are stored with that unit, whose
 * number is given once under each epoch.
 * @throws POLLUX_OUTPUT_UNDECLARED, POLLUX_ENCODE_FAILED
 */
export function encodeScheduled(
  service: Service,
  { identity, epoch, unit }: Partition,
  returned: unknown,
): readonly OutgoingRecord[] {
  return encodeAll(service, returned, () => `schedule/${identity}/${epoch}/${unit + 1}`)
}

/** @param identityOf what the outputs' ids follow from; asked only when there are any. */
function encodeAll(
  service: Service,
  returned: unknown,
  identityOf: () => string,
): readonly OutgoingRecord[] {
  if (returned === undefined || returned === null) return none
  const outputs = (Array.isArray(returned) ? returned : [returned]) as OutputMessage[]
  if (outputs.length === 0) return none
  const identity = `${service.name}:${identityOf()}`
  return outputs.map((output, index) => encodeOutput(service, identity, output, index))
}

function encodeOutput(
  service: Service,
  identity: string,
  output: OutputMessage,
  index: number,
): OutgoingRecord {
  if (!service.outputs.includes(output?.topic)) throw undeclared(service, output)
  const record = encodeRecord(output)
  const { headers } = record
  if (headers.length === 0 || !headers.some(({ name }) => name === 'id')) {
    const id = `${identity}:${record.topic}:${index}`
    const isDirect = service.options.publish === 'direct'
    headers.push({ name: 'id', value: Buffer.from(isDirect ? `${id}:${digestOf(record)}` : id) })
  }
  return record
}

/**
 * The bytes of a message made by `topic.message(…)`.
 * @throws POLLUX_ENCODE_FAILED
 */
export function encodeRecord({
  topic,
  fields,
}: OutputMessage): OutgoingRecord & { headers: Header[] } {
  return {
    topic: topic.name,
    partition: fields.partition,
    key: encodePart('key', topic, fields.key),
    value: encodePart('value', topic, fields.value),
    headers: encodeHeaders(topic, fields.headers),
    timestamp: fields.timestamp,
  }
}

function undeclared(service: Service, output: unknown): PolluxError {
  const declared = service.outputs.map(({ name }) => name).join(', ')
  const found = (output as Partial<OutputMessage> | null)?.topic?.name
  return new PolluxError(
    'POLLUX_OUTPUT_UNDECLARED',
    `Service ${service.name} returned what it may not send.`,
    {
      expected:
        declared === ''
          ? 'nothing, as it declares no outputs'
          : `messages made by the declared outputs: ${declared}`,
      found:
        found === undefined
          ? shown(output)
          : `a message of a topic object named '${found}' that is not among them`,
      hint:
        found === undefined
          ? 'Return what topic.message(…) makes, a list of it, or nothing.'
          : 'Put that very topic object among the outputs of defineService, or do not return the message.',
    },
  )
}

function encodePart(part: 'key' | 'value', topic: AnyTopic, given: unknown): Buffer | null {
  const codec = topic[part]
  if (given === null && codec.nullable) return null
  try {
    return encodeExactly(codec, given)
  } catch (cause) {
    throw new PolluxError(
      'POLLUX_ENCODE_FAILED',
      `The ${part} of an output for ${topic.name} cannot be encoded: ${errorText(cause)}`,
      {
        cause,
      },
    )
  }
}

/** What the codec makes of it. @throws POLLUX_ENCODE_FAILED when that is not bytes: a promise, for one. */
export function encodeExactly(codec: AnyTopic['value'], given: unknown): Buffer {
  const encoded: unknown = codec.encode(given as never)
  if (Buffer.isBuffer(encoded)) return encoded
  throw new PolluxError(
    'POLLUX_ENCODE_FAILED',
    `The codec ${codec.name} gave something else than bytes.`,
    {
      expected: 'encode to return a Buffer, not a promise of one',
      found: shown(encoded),
    },
  )
}

function encodeHeaders(
  topic: AnyTopic,
  given: OutputFields<unknown, unknown>['headers'],
): Header[] {
  if (given === undefined) return []
  if (isIterable(given)) {
    return [...given].map(({ name, value }) => ({
      name,
      value: value === null ? null : headerBytes(topic, name, value),
    }))
  }
  return Object.entries(given).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one: unknown) => ({
      name,
      value: headerBytes(topic, name, one),
    })),
  )
}

function isIterable(headers: OutputHeaders | Iterable<Header>): headers is Iterable<Header> {
  return Symbol.iterator in headers
}

function headerBytes(topic: AnyTopic, name: string, value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.from(value)
  if (value instanceof Uint8Array) return Buffer.from(value)
  throw new PolluxError(
    'POLLUX_ENCODE_FAILED',
    `The header '${name}' of an output for ${topic.name} cannot be encoded.`,
    {
      expected: 'text, bytes, or a list of them',
      found: shown(value),
    },
  )
}

/**
 * The id of an output follows from its input, so that an output that is sent again carries the same one and a reader
 * can drop it: `service:input:topic:index`. Where outputs are published before the effects are stored, a handler may run
 * again and come to another result: then the content is part of the id, as one id never names two contents.
 */
function digestOf({ key, value }: OutgoingRecord): string {
  return (key === null ? crcOf(value, 1) : crcOf(value, crc32(key))).toString(36)
}

function crcOf(value: Buffer | null, start: number): number {
  return value === null ? start ^ 1 : crc32(value, start)
}
