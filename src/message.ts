/** One header as it travels: names may repeat, values are bytes, and Kafka allows a null value. */
export interface Header {
  readonly name: string
  readonly value: Uint8Array | null
}

/** A record's headers in their order, repeated names and binary values kept. */
export interface Headers extends Iterable<Header> {
  readonly size: number
  /** The last value of that name as UTF-8 text; undefined when absent or null. */
  get(name: string): string | undefined
  /** The last value of that name as bytes; undefined when absent, null when the header has no value. */
  bytes(name: string): Uint8Array | null | undefined
  /** All values of that name, in order. */
  all(name: string): readonly (Uint8Array | null)[]
}

/** One decoded record. */
export interface Message<K = unknown, V = unknown, Name extends string = string> {
  readonly topic: Name
  readonly partition: number
  readonly offset: bigint
  /** Milliseconds since 1970, as the record carries it. */
  readonly timestamp: number
  readonly key: K
  /** Null only where the topic's value codec is `nullable(…)` and the record is a tombstone. */
  readonly value: V
  /** True when the record's value is null, as opposed to empty or the JSON text `null`. */
  readonly tombstone: boolean
  readonly headers: Headers
  /**
   * What identifies the event: the header `id`; else CloudEvents' `ce_source` and `ce_id`;
   * else `topic/partition/offset`.
   */
  readonly id: string
  /** The record's own bytes. */
  readonly raw: RawMessage
}

/** The bytes of a record. */
export interface RawMessage {
  readonly topic: string
  readonly partition: number
  /** A safe integer; adapters refuse a larger offset instead of rounding it. */
  readonly offset: number
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly Header[]
}
