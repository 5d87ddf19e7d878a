import { messagesOf } from '../../src/testing/logs.ts'
import type { AnyTopic, MessageOf, OutputMessage } from '../../src/topic.ts'
import type { Place } from './place.ts'

/** A part of the demo: one pattern at work. */
export interface Scene {
  /** The pattern, and what it is used for here. */
  readonly title: string
  /** What is sent, in order. Each has a header `id`. */
  readonly events: readonly OutputMessage[]
  /** What has come of it. */
  look(place: Place): Promise<Outcome>
}

/** What has come of a scene, in words. */
export interface Outcome {
  readonly sent: string
  readonly came: string
  /** Lines below that. */
  readonly table?: string
  /** What holds when there are no problems. */
  readonly proof: string
  /** What differs from what follows from the events, a line each. */
  readonly problems: readonly string[]
}

/** A topic's messages; what was sent again with the same id is there once. */
export async function onceEach<T extends AnyTopic>(
  { broker }: Place,
  topic: T,
): Promise<readonly MessageOf<T>[]> {
  const messages = await messagesOf(broker, topic)
  const byId = new Map(
    messages.toReversed().map((message) => [(message as { readonly id: string }).id, message]),
  )
  return [...byId.values()].reverse()
}
