import { isUtf8 } from 'node:buffer'
import type { RawMessage } from '../../message.ts'

/** How bytes are shown; `auto` is JSON if they are that, else text, else base64. */
export type BytesFormat = 'auto' | 'text' | 'json' | 'hex' | 'base64'

export const bytesFormats: readonly BytesFormat[] = ['auto', 'text', 'json', 'hex', 'base64']

export interface RecordFormats {
  readonly key: BytesFormat
  readonly value: BytesFormat
}

/**
 * A record as one line of JSON. A value that is JSON is put in as its own text, so that no number changes. Whatever
 * is not that is a JSON text, and `keyEncoding` or `valueEncoding` says how to read it: `text`, `base64` or `hex`.
 * A null value has `"tombstone":true` beside it, since the JSON text `null` looks the same.
 */
export function recordJson(record: RawMessage, formats: RecordFormats): string {
  const { topic, partition, offset, timestamp, key, value, headers } = record
  const members = [
    `"topic":${JSON.stringify(topic)}`,
    `"partition":${partition}`,
    `"offset":${offset}`,
    `"timestamp":${JSON.stringify(shownTime(timestamp))}`,
    ...bytesMembers('key', key, formats.key),
    ...bytesMembers('value', value, formats.value),
  ]
  if (value === null) members.push('"tombstone":true')
  members.push(`"headers":[${headers.map(headerJson).join(',')}]`)
  return `{${members.join(',')}}`
}

function headerJson({ name, value }: RawMessage['headers'][number]): string {
  return `{"name":${JSON.stringify(name)},${bytesMembers('value', asBuffer(value), 'text').join(',')}}`
}

function asBuffer(bytes: Uint8Array | null): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function bytesMembers(name: string, bytes: Buffer | null, format: BytesFormat): string[] {
  if (bytes === null) return [`"${name}":null`]
  const { encoding, text } = shownBytes(bytes, format)
  if (encoding === 'json') return [`"${name}":${text}`]
  // Text is what keys and headers are expected to be, so only the unexpected is marked there.
  const isPlain = encoding === 'text' && format === 'text'
  return isPlain
    ? [`"${name}":${JSON.stringify(text)}`]
    : [`"${name}":${JSON.stringify(text)}`, `"${name}Encoding":"${encoding}"`]
}

/** Bytes as text, and what kind of text that is. */
export function shownBytes(
  bytes: Buffer,
  format: BytesFormat,
): { readonly encoding: 'json' | 'text' | 'hex' | 'base64'; readonly text: string } {
  if (format === 'hex') return { encoding: 'hex', text: bytes.toString('hex') }
  if (format === 'base64' || !isUtf8(bytes))
    return { encoding: 'base64', text: bytes.toString('base64') }
  const text = bytes.toString('utf8')
  // Line feeds between JSON's tokens may be spaces as well; inside its texts there are none.
  if (format !== 'text' && isJson(text))
    return { encoding: 'json', text: text.replace(/[\r\n]+/g, ' ').trim() }
  return { encoding: 'text', text }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A time as ISO text; null for a record without one, the number itself beyond what a calendar date can say. */
export function shownTime(timestamp: number): string | number | null {
  if (timestamp < 0) return null
  const date = new Date(timestamp)
  return Number.isNaN(date.getTime()) ? timestamp : date.toISOString()
}
