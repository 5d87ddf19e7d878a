import { PolluxError, shown } from '../errors.ts'
import type { Codec } from './codec.ts'

/** The bytes as they are. */
export const bytes: Codec<Buffer, Uint8Array> = {
  name: 'bytes',
  nullable: false,
  decode: (value) => value,
  encode(value) {
    if (Buffer.isBuffer(value)) return value
    if (value instanceof Uint8Array)
      return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    throw new PolluxError('POLLUX_ENCODE_FAILED', 'The codec bytes takes bytes only.', {
      expected: 'a Buffer or Uint8Array',
      found: shown(value),
    })
  },
}
