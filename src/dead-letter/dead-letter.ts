import { causesOf } from '../causes.ts'
import { errorText, PolluxError } from '../errors.ts'
import type { Header, RawMessage } from '../message.ts'
import type { OutgoingRecord } from '../ports/broker.ts'
import { fingerprintOf } from './fingerprint.ts'
import { isLetterHeader, letterHeaders } from './headers.ts'

/** What is known of a message that is given up. */
export interface GivenUp {
  readonly raw: RawMessage
  readonly service: string
  readonly error: PolluxError
  /** See `letterHeaders.reason`. */
  readonly reason: string
  readonly attempts: number
  /** Milliseconds since 1970. */
  readonly failedAt: number
  readonly firstFailedAt: number
  /** What tells this process from others; undefined when nothing does. */
  readonly instance: string | undefined
}

// Headers count towards the size of a record: texts of others must not make it too large.
const longestMessage = 1_000
const longestStack = 2_000

/** The record that goes to the topic of dead letters: the original's bytes, and what is known of its failure. */
export function deadLetter(topic: string, given: GivenUp): OutgoingRecord {
  const { raw } = given
  const original = raw.headers.filter(({ name }) => !isLetterHeader(name))
  return {
    topic,
    partition: undefined,
    key: raw.key,
    value: raw.value,
    headers: [...original, ...headersOf(given)],
    timestamp: undefined,
  }
}

/** The same letter without what can be large: the original record still has it. Undefined: there is nothing left to leave out. */
export function reducedLetter(letter: OutgoingRecord): OutgoingRecord | undefined {
  const before = letter.headers.find(({ name }) => name === letterHeaders.reduced)
  if (before !== undefined && letter.key === null) return undefined
  const leftOut = before === undefined ? 'value headers' : 'key value headers'
  const own = letter.headers.filter(
    ({ name }) => isLetterHeader(name) && name !== letterHeaders.reduced,
  )
  return {
    ...letter,
    key: before === undefined ? letter.key : null,
    value: null,
    headers: [...own, textHeader(letterHeaders.reduced, leftOut)],
  }
}

function headersOf(given: GivenUp): Header[] {
  const { raw, service, error, reason, attempts, failedAt, firstFailedAt } = given
  const name = nameOf(error)
  const message = errorText(error)
  const replays = raw.headers.findLast((header) => header.name === letterHeaders.replays)
  const texts: readonly (readonly [string, string])[] = [
    [letterHeaders.topic, raw.topic],
    [letterHeaders.partition, String(raw.partition)],
    [letterHeaders.offset, String(raw.offset)],
    [letterHeaders.group, service],
    [letterHeaders.attempts, String(attempts)],
    [letterHeaders.message, cut(message, longestMessage)],
    [letterHeaders.reason, reason],
    [letterHeaders.error, name],
    [letterHeaders.stack, cut(stackOf(error), longestStack)],
    [letterHeaders.fingerprint, fingerprintOf(name, message)],
    [letterHeaders.timestamp, String(raw.timestamp)],
    [letterHeaders.failedAt, String(failedAt)],
    [letterHeaders.firstFailedAt, String(firstFailedAt)],
    ...(given.instance === undefined ? [] : [[letterHeaders.instance, given.instance] as const]),
  ]
  return [
    ...texts.map(([header, text]) => textHeader(header, text)),
    ...(replays === undefined ? [] : [replays]),
  ]
}

function textHeader(name: string, text: string): Header {
  return { name, value: Buffer.from(text) }
}

/** The code or name of what lies lowest under our own words for it. */
function nameOf(error: PolluxError): string {
  const causes = [...causesOf(error)]
  const telling = causes.find((cause) => !PolluxError.is(cause, 'POLLUX_HANDLER_FAILED')) ?? error
  const { code, name } = telling as { readonly code?: unknown; readonly name?: unknown }
  if (typeof code === 'string' && code !== '') return cut(code, 100)
  return cut(typeof name === 'string' && name !== '' ? name : 'Error', 100)
}

function stackOf(error: PolluxError): string {
  const cause = error.cause ?? error
  return cause instanceof Error ? (cause.stack ?? cause.message) : errorText(cause)
}

/** At a character's end, and well formed. */
function cut(text: string, length: number): string {
  const whole = text.toWellFormed()
  return whole.length <= length ? whole : `${whole.slice(0, length).toWellFormed()}…`
}
