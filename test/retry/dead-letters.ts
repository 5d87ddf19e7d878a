import { letterHeaders } from '../../src/dead-letter/headers.ts'
import { bytes, type MessageOf, nullable, type Topic, topic } from '../../src/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { messagesOf } from '../../src/testing/index.ts'

type LetterTopic = Topic<string, Buffer | null, Buffer | null, Uint8Array | null, Uint8Array | null>

/** The dead letters of a service, as they were written. */
export async function deadLettersOf(
  broker: Broker,
  service: string,
): Promise<MessageOf<LetterTopic>[]> {
  const letters = topic(`${service}.dlq`, { key: nullable(bytes), value: nullable(bytes) })
  return await messagesOf(broker, letters)
}

/** Its own headers, by the names of `letterHeaders`. */
export function told({
  headers,
}: MessageOf<LetterTopic>): Readonly<Record<keyof typeof letterHeaders, string | undefined>> {
  return Object.fromEntries(
    Object.entries(letterHeaders).map(([name, header]) => [name, headers.get(header)]),
  ) as Readonly<Record<keyof typeof letterHeaders, string | undefined>>
}
