import { type Duration, milliseconds } from './duration.ts'
import { shown } from './errors.ts'
import type { Message } from './message.ts'
import type { Problems } from './options.ts'

/**
 * How a service that keeps something in a store makes the second copy of a message harmless.
 *
 * - `{ by: 'offset' }` (default with a store): each record has its effect once. Two records are two messages, whatever
 *   they say. Costs nothing and never expires.
 * - `{ by: 'event-id', id?, window? }`: each event has its effect once, even if producers write it twice. `id` gives the event's
 *   id; default `message.id`. Events without one count by their record. Events that come again
 *   after more than `window` (default `'7d'`) are new ones.
 * - `{ by: 'version', of }`: per key only newer versions have an effect; `of` gives the version, a larger one is newer.
 *   Of two equal ones in one partition the later wins. What is stored per key stays for ever.
 * - `'natural'`: your word that repeating a message is harmless. Nothing is looked up and nothing remembered.
 */
export type Idempotency<M = Message> =
  | { readonly by: 'offset' }
  | {
      readonly by: 'event-id'
      readonly id?: (message: M) => string | undefined
      readonly window?: Duration
    }
  | { readonly by: 'version'; readonly of: (message: M) => number | bigint }
  | 'natural'

/** As read: the window in milliseconds. */
export type IdempotencyRule =
  | { readonly by: 'offset' }
  | {
      readonly by: 'event-id'
      readonly id: ((message: Message) => unknown) | undefined
      readonly window: number
    }
  | { readonly by: 'version'; readonly of: (message: Message) => unknown }
  | { readonly by: 'natural' }

const expected =
  "{ by: 'offset' }, { by: 'event-id', id?, window? }, { by: 'version', of } or 'natural'"

/** Adds what is wrong to `problems`. */
export function readIdempotency(given: unknown, problems: Problems): IdempotencyRule {
  if (given === 'natural') return { by: 'natural' }
  if (typeof given !== 'object' || given === null) return wrong(given, problems)
  const { by, ...rest } = given as Record<string, unknown>
  for (const name of Object.keys(rest)) {
    if (!(known[by as keyof typeof known] ?? [name]).includes(name))
      problems.add(`idempotency.${name}: not known together with by: ${shown(by)}`)
  }
  if (by === 'offset') return { by }
  if (by === 'event-id')
    return { by, id: readId(rest, problems), window: readWindow(rest, problems) }
  if (by === 'version') return { by, of: readOf(rest, problems) }
  return wrong(by, problems)
}

const known: Readonly<Record<'offset' | 'event-id' | 'version', readonly string[]>> = {
  offset: [],
  'event-id': ['id', 'window'],
  version: ['of'],
}

function wrong(found: unknown, problems: Problems): IdempotencyRule {
  problems.add(`idempotency: expected ${expected}, found ${shown(found)}`)
  return { by: 'offset' }
}

function readId(
  { id }: Record<string, unknown>,
  problems: Problems,
): ((message: Message) => unknown) | undefined {
  if (id === undefined || typeof id === 'function') return id as (message: Message) => unknown
  problems.add(`idempotency.id: expected a function of the message, found ${shown(id)}`)
  return undefined
}

function readOf(
  { of }: Record<string, unknown>,
  problems: Problems,
): (message: Message) => unknown {
  if (typeof of === 'function') return of as (message: Message) => unknown
  problems.add(`idempotency.of: expected a function of the message, found ${shown(of)}`)
  return () => 0
}

function readWindow({ window = '7d' }: Record<string, unknown>, problems: Problems): number {
  try {
    const ms = milliseconds(window as Duration)
    if (ms > 0) return ms
  } catch {
    // Told below.
  }
  problems.add(
    `idempotency.window: expected a duration above 0 such as '7d', found ${shown(window)}`,
  )
  return 1
}
