import { hash } from 'node:crypto'
import { PolluxError, shown } from '../errors.ts'
import type { RawMessage } from '../message.ts'
import { eventIdOf } from './message.ts'
import type { Work } from './partition.ts'

// What the store takes; longer ones are kept by a prefix and their hash.
const longestMark = 255
const prefixLength = 224

/** The bytes that tell an event from others of its topic; undefined when it carries no id. */
export function markOfHeader(raw: RawMessage): Buffer | undefined {
  const id = eventIdOf(raw)
  return id && bounded(id)
}

/**
 * The same for what `idempotency.id` has returned.
 * @throws POLLUX_HANDLER_FAILED for what is no id.
 */
export function markOfText(id: unknown, work: Work): Buffer | undefined {
  if (id === undefined || id === null || id === '') return undefined
  if (typeof id === 'string') return bounded(bytesOf(id))
  throw new PolluxError('POLLUX_HANDLER_FAILED', `${work} has no usable event id.`, {
    expected: 'text, or undefined, from idempotency.id',
    found: shown(id),
  })
}

/** Different for different texts, those with lone surrogates (an emoji that was cut in two) included. */
function bytesOf(id: string): Buffer {
  if (id.isWellFormed()) return Buffer.from(id)
  // UTF-8 has no bytes for it, and would make every lone surrogate the same; it never begins with this byte.
  return Buffer.concat([illFormed, Buffer.from(id, 'utf16le')])
}

const illFormed = Buffer.from([0xff])

/**
 * What identifies an input among all that a service reads, for the ids of its outputs: its event where the service goes by
 * events, else its record. Inputs made by another service have ids like those outputs themselves, which would grow with
 * each service on the way; so a long one is hashed.
 */
export function inputIdentity(work: Work, goesByEvents: boolean): string {
  const mark = goesByEvents ? (work.effects?.mark ?? markOfHeader(work.raw)) : undefined
  if (mark === undefined) return `${work.partition.identity}/${work.offset}`
  const text = mark.toString('latin1')
  return `${work.partition.topic}/${plain.test(text) ? text : hash('sha256', mark, 'base64url').slice(0, 27)}`
}

const plain = /^[!-~]{1,48}$/

/** Equal only for equal ids: one that was shortened is longer than any that was not. */
function bounded(id: Buffer): Buffer {
  if (id.length <= longestMark) return id
  return Buffer.concat([id.subarray(0, prefixLength), hash('sha256', id, 'buffer')])
}
