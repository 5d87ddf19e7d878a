import { isUtf8 } from 'node:buffer'
import { PolluxError, shown } from '../errors.ts'
import type { Codec } from './codec.ts'

/** UTF-8 text. Bytes that are not UTF-8 and lone surrogates are refused, as both would come out as U+FFFD. */
export const text: Codec<string> = {
  name: 'text',
  nullable: false,
  decode: decodeUtf8,
  encode(value) {
    if (typeof value === 'string' && value.isWellFormed()) return Buffer.from(value)
    throw new PolluxError('POLLUX_ENCODE_FAILED', 'The codec text takes well-formed text only.', {
      expected: 'a string without lone surrogates',
      found: typeof value === 'string' ? 'a string with a lone surrogate' : shown(value),
    })
  },
}

/** @throws POLLUX_DECODE_FAILED for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string {
  const decoded = bytes.toString('utf8')
  // U+FFFD is what an invalid byte turns into; it may also have been sent, so only then the bytes are looked at.
  if (decoded.includes('\ufffd') && !isUtf8(bytes)) {
    throw new PolluxError('POLLUX_DECODE_FAILED', 'The bytes are not UTF-8 text.', {
      found: `${bytes.length} bytes, beginning with 0x${bytes.toString('hex', 0, 8)}`,
    })
  }
  return decoded
}
