import { bytes } from './codecs/bytes.ts'
import { type Codec, nullable } from './codecs/codec.ts'
import { PolluxError, shown } from './errors.ts'
import type { Header, Message } from './message.ts'

/** Headers of an output: a value is text or bytes; a list repeats the name. */
export type OutputHeaders = Readonly<
  Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>
>

/** What `topic.message(…)` takes. */
export interface OutputFields<K, V> {
  readonly key: K
  readonly value: V
  /** Those of a message (`message.headers`), or a list of headers, go out as they are: order, repeated names and all. */
  readonly headers?: OutputHeaders | Iterable<Header>
  /** Default: chosen by key, as Java's default partitioner does. */
  readonly partition?: number
  /** Milliseconds since 1970. Default: the time of sending. */
  readonly timestamp?: number
}

/** A message to be written, made by `topic.message(…)`. Handlers return these; nothing is sent before. */
export interface OutputMessage<T extends AnyTopic = AnyTopic> {
  readonly topic: T
  readonly fields: OutputFields<unknown, unknown>
}

/** A declared stream of messages. */
export interface Topic<Name extends string, K, V, KeyInput = K, ValueInput = V> {
  readonly name: Name
  readonly key: Codec<K, KeyInput>
  readonly value: Codec<V, ValueInput>
  readonly create: TopicCreation
  /** A message for this topic, to be returned by a handler that declares the topic as an output. */
  message(
    fields: OutputFields<KeyInput, ValueInput>,
  ): OutputMessage<Topic<Name, K, V, KeyInput, ValueInput>>
}

/** Any topic. Method parameters are compared loosely here on purpose: this type is for lists of topics. */
export interface AnyTopic {
  readonly name: string
  readonly key: Codec<unknown, never>
  readonly value: Codec<unknown, never>
  readonly create: TopicCreation
}

/** How the topic is made where it is missing and the runtime may make topics. */
export interface TopicCreation {
  /** Default 4. */
  readonly partitions?: number
  /** Kafka's topic settings, e.g. `{ 'cleanup.policy': 'compact' }`. */
  readonly config?: Readonly<Record<string, string>>
}

/** The message type of a topic. */
export type MessageOf<T extends AnyTopic> =
  T extends Topic<infer Name, infer K, infer V, never, never> ? Message<K, V, Name> : never

export interface TopicOptions<K, V, KeyInput, ValueInput> {
  /** Default: the key's bytes, or null. A record without a key needs a `nullable(…)` codec. */
  readonly key?: Codec<K, KeyInput>
  /** Records with a null value (tombstones) need a `nullable(…)` codec. */
  readonly value: Codec<V, ValueInput>
  readonly create?: TopicCreation
}

/**
 * Declares a topic. It makes nothing on the broker.
 * @throws POLLUX_OPTION_INVALID for a name that Kafka would refuse.
 */
export function topic<
  const Name extends string,
  V,
  ValueInput,
  K = Buffer | null,
  KeyInput = Uint8Array | null,
>(
  name: Name,
  options: TopicOptions<K, V, KeyInput, ValueInput>,
): Topic<Name, K, V, KeyInput, ValueInput> {
  checkTopicName(name)
  const declared: Topic<Name, K, V, KeyInput, ValueInput> = {
    name,
    // Without a key codec, K and KeyInput are what the default one has.
    key: options.key ?? (nullable(bytes) as unknown as Codec<K, KeyInput>),
    value: options.value,
    create: options.create ?? {},
    message: (fields) => ({ topic: declared, fields: fields as OutputFields<unknown, unknown> }),
  }
  return declared
}

const legalName = /^[A-Za-z0-9._-]{1,249}$/

/** @throws POLLUX_OPTION_INVALID */
export function checkTopicName(name: string): void {
  if (legalName.test(name) && name !== '.' && name !== '..') return
  throw new PolluxError('POLLUX_OPTION_INVALID', 'This is not a topic name.', {
    expected: "1 to 249 of the characters a-z A-Z 0-9 . _ - and neither '.' nor '..'",
    found: shown(name),
  })
}
