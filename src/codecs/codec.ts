/**
 * Turns values into bytes and back. Both directions throw on what they cannot represent exactly: a wrong value is an
 * error, never a near miss.
 */
export interface Codec<T, Input = T> {
  /** For messages: `text`, `json`, … */
  readonly name: string
  /** True when null stands for null bytes: a missing key, or a tombstone. Other codecs never see null. */
  readonly nullable: boolean
  /** May return a promise, as a schema may check asynchronously. */
  decode(bytes: Buffer): T | Promise<T>
  encode(value: Input): Buffer
}

/**
 * Lets null through: `nullable(text)` for keys that may be missing, `nullable(json(Price))` for topics with
 * tombstones. Null and empty stay distinct.
 */
export function nullable<T, Input>(codec: Codec<T, Input>): Codec<T | null, Input | null> {
  return {
    name: `nullable ${codec.name}`,
    nullable: true,
    decode: codec.decode,
    encode: codec.encode as (value: Input | null) => Buffer,
  }
}
