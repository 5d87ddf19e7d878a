import type { Codec } from '../../codecs/codec.ts'
import { errorText } from '../../errors.ts'
import { NonRetryableError } from '../../handler-errors.ts'
import type { Headers, Message } from '../../message.ts'
import type { AnyTopic, MessageOf } from '../../topic.ts'

/** What a route looks at. With several, all have to hold; the value is decoded only where the others do. */
export interface RouteCondition<I extends AnyTopic> {
  readonly headers?: (headers: Headers) => boolean
  readonly key?: (key: MessageOf<I>['key']) => boolean
  /** Sees null for a tombstone, where the input's value codec is nullable. */
  readonly value?: (value: MessageOf<I>['value']) => boolean
}

/** Where the messages go for which `when` holds. */
export interface Route<I extends AnyTopic, T extends AnyTopic> {
  readonly when: RouteCondition<I>
  readonly to: T & Fitting<I, T>
}

/** The topic itself where its messages can be what the input's are, else what is wrong with it. */
export type Fitting<I extends AnyTopic, T extends AnyTopic> =
  IsPart<MessageOf<I>['key'], MessageOf<T>['key']> extends true
    ? IsPart<MessageOf<I>['value'], MessageOf<T>['value']> extends true
      ? T
      : 'The values of this topic have another type than those of the input.'
    : 'The keys of this topic have another type than those of the input.'

/** Whether one is a part of the other, in either direction; bytes take everything. */
type IsPart<From, To> = [Buffer] extends [To]
  ? true
  : [From] extends [To]
    ? true
    : [To] extends [From]
      ? true
      : false

type AnyRoute = Route<AnyTopic, AnyTopic>

/** The first route that holds; a promise only where a codec gives one. */
export function firstThatHolds(
  routes: readonly AnyRoute[],
  message: LazyMessage,
): AnyRoute | undefined | Promise<AnyRoute | undefined> {
  for (const [index, route] of routes.entries()) {
    const isIt = holds(route.when as RouteCondition<never>, message)
    if (isIt instanceof Promise)
      return isIt.then((sure) => (sure ? route : firstThatHolds(routes.slice(index + 1), message)))
    if (isIt) return route
  }
  return undefined
}

function holds(when: RouteCondition<never>, message: LazyMessage): boolean | Promise<boolean> {
  const { headers, key, value } = when
  if (headers?.(message.headers) === false) return false
  const byKey = key === undefined || check(key, message.part('key'))
  if (value === undefined) return byKey
  const byValue = (isIt: boolean): boolean | Promise<boolean> =>
    isIt && check(value, message.part('value'))
  return byKey instanceof Promise ? byKey.then(byValue) : byValue(byKey)
}

function check(predicate: (part: never) => boolean, part: unknown): boolean | Promise<boolean> {
  return part instanceof Promise
    ? part.then((decoded) => predicate(decoded as never))
    : predicate(part as never)
}

/** A message whose key and value are decoded when they are asked for, once. */
export class LazyMessage {
  readonly headers: Headers
  readonly #raw: Message['raw']
  readonly #topic: AnyTopic
  readonly #decoded = new Map<'key' | 'value', unknown>()

  constructor({ raw, headers }: Message, topic: AnyTopic) {
    this.headers = headers
    this.#raw = raw
    this.#topic = topic
  }

  /** A promise only where the codec gives one. @throws POLLUX_NOT_RETRYABLE for what its codec refuses. */
  part(name: 'key' | 'value'): unknown {
    if (!this.#decoded.has(name))
      this.#decoded.set(name, decode(name, this.#topic[name], this.#raw[name]))
    return this.#decoded.get(name)
  }
}

function decode(name: string, codec: Codec<unknown, never>, bytes: Buffer | null): unknown {
  if (bytes === null && codec.nullable) return null
  const refuse = (cause: unknown): never => {
    throw new NonRetryableError(`The ${name} cannot be decoded: ${errorText(cause)}`, { cause })
  }
  if (bytes === null) return refuse(`it is null, and ${codec.name} is not nullable.`)
  try {
    const decoded = codec.decode(bytes)
    return decoded instanceof Promise ? decoded.catch(refuse) : decoded
  } catch (cause) {
    return refuse(cause)
  }
}
