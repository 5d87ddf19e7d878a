import type { AnyTopic, MessageOf } from '../../topic.ts'

/** One of the things that a gate waits for. Made by `fact`. */
export interface Fact<T extends AnyTopic, K> {
  readonly topic: T
  when?(message: MessageOf<T>): boolean
  keep?(message: MessageOf<T>): K
}

/** Any fact. Parameters of its methods are compared loosely, as those of topics. */
export type AnyFact = Fact<AnyTopic, unknown>

/** What `fact` takes beside its topic. */
export interface FactOptions<T extends AnyTopic, K> {
  /** Which messages of the topic are this fact. Default: all of them. */
  when?(message: MessageOf<T>): boolean
  /** What `open` is to know of it: a value that JSON can hold. Default: only that it came. */
  keep?(message: MessageOf<T>): K
}

/** A fact for `gate`: the messages of a topic, or some of them. */
export function fact<const T extends AnyTopic, K = never>(
  topic: T,
  options: FactOptions<T, K> = {},
): Fact<T, K> {
  return { ...options, topic }
}
