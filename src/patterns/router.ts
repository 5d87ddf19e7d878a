import { bytes } from '../codecs/bytes.ts'
import { nullable } from '../codecs/codec.ts'
import { shown } from '../errors.ts'
import { NonRetryableError } from '../handler-errors.ts'
import type { Idempotency } from '../idempotency.ts'
import type { Message } from '../message.ts'
import { checkObject, Problems } from '../options.ts'
import { defineService, type HandlerContext, type Service } from '../service.ts'
import type { HandlerOptions } from '../service-options.ts'
import { type AnyTopic, type MessageOf, type OutputMessage, type Topic, topic } from '../topic.ts'
import { type Fitting, firstThatHolds, LazyMessage, type Route } from './router/route.ts'

/** A topic whose records are passed on as they are. */
type BytesTopic = Topic<string, Buffer | null, Buffer | null, Uint8Array | null, Uint8Array | null>

/** What `router` takes, beside the options of every service. */
export interface RouterDefinition<
  I extends AnyTopic,
  T extends readonly AnyTopic[],
  E extends AnyTopic,
> extends HandlerOptions {
  readonly input: I
  /** The first one that holds wins. */
  readonly routes: { readonly [Name in keyof T]: Route<I, T[Name]> }
  /** For messages that no route takes: a topic, `'drop'` (counted as `dropped`), or `'dead-letter'`, which fails them. */
  readonly otherwise: 'dead-letter' | 'drop' | (E & Fitting<I, E>)
  /** As in every service; its functions see bytes. Needs a store unless it is `'natural'`. */
  readonly idempotency?: Idempotency<MessageOf<BytesTopic>>
}

/**
 * A service that passes each message on to the topic of the first route that holds: key, value, headers and timestamp
 * as they are, byte for byte, the partition by key.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function router<
  const I extends AnyTopic,
  const T extends readonly AnyTopic[],
  const E extends AnyTopic = never,
>(name: string, definition: RouterDefinition<I, T, E>): Service {
  checkObject('router()', definition, '{ input, routes: [{ when, to }], otherwise }')
  const { input, routes: given, otherwise, ...options } = definition
  const routes = given as readonly Route<AnyTopic, AnyTopic>[]
  const problems = new Problems()
  checkRoutes(input, routes, otherwise, problems)
  problems.throwIfAny(`Router ${shown(name)} is wrong`)
  const ends = routes.map(({ to }): AnyTopic => to)
  if (typeof otherwise !== 'string') ends.push(otherwise)
  const outputs = new Map(ends.map((end) => [end.name, asBytes(end)]))

  const passOn = (
    message: Message,
    route: Route<AnyTopic, AnyTopic> | undefined,
    { count }: HandlerContext,
  ): OutputMessage<BytesTopic> | undefined => {
    const to = route?.to ?? otherwise
    if (to === 'dead-letter') throw new NonRetryableError('No route takes the message.')
    if (to === 'drop') {
      count('dropped')
      return undefined
    }
    const { key, value, headers, timestamp } = message.raw
    const output = outputs.get((to as AnyTopic).name) as BytesTopic
    return output.message({ key, value, headers, ...(timestamp < 0 ? {} : { timestamp }) })
  }
  return defineService(name, {
    ...options,
    inputs: [asBytes(input)],
    outputs: [...outputs.values()],
    handle(message, context) {
      const route = firstThatHolds(routes, new LazyMessage(message, input))
      return route instanceof Promise
        ? route.then((found) => passOn(message, found, context))
        : passOn(message, route, context)
    },
  })
}

/** The same topic for records that nobody looks into. */
function asBytes({ name, create }: AnyTopic): BytesTopic {
  return topic(name, { key: nullable(bytes), value: nullable(bytes), create })
}

function checkRoutes(
  input: unknown,
  routes: unknown,
  otherwise: unknown,
  problems: Problems,
): void {
  checkTopic('input', input, problems)
  if (otherwise !== 'drop' && otherwise !== 'dead-letter') checkEnd('otherwise', otherwise)
  if (!Array.isArray(routes) || routes.length === 0)
    return problems.add(`routes: expected at least one { when, to }, found ${shown(routes)}`)
  for (const [index, route] of (routes as Partial<Route<AnyTopic, AnyTopic>>[]).entries()) {
    checkEnd(`routes[${index}].to`, route?.to)
    const when = Object.entries(route?.when ?? {})
    const isFine = ([part, predicate]: [string, unknown]): boolean =>
      ['headers', 'key', 'value'].includes(part) && typeof predicate === 'function'
    if (when.length > 0 && when.every(isFine)) continue
    problems.add(
      `routes[${index}].when: expected functions under headers, key or value, found ${when.map(([part, predicate]) => `${part}: ${shown(predicate)}`).join(', ') || 'none'}`,
    )
  }

  function checkEnd(what: string, end: unknown): void {
    checkTopic(what, end, problems)
    if (end !== undefined && (end as AnyTopic).name === (input as AnyTopic | undefined)?.name)
      problems.add(`${what}: expected another topic than the input, which would be read again`)
  }
}

function checkTopic(what: string, given: unknown, problems: Problems): void {
  const { name, value } = (given ?? {}) as Partial<AnyTopic>
  if (typeof name === 'string' && value !== undefined) return
  const others = what === 'otherwise' ? ", 'drop' or 'dead-letter'" : ''
  problems.add(`${what}: expected a topic made by topic()${others}, found ${shown(given)}`)
}
