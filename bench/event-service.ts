import { defineService, json, type Service, text, topic } from '../src/index.ts'
import { anyReading, transform } from './workload.ts'

/** How outputs are published; undefined: there are none. */
export type Publishing = 'outbox' | 'direct' | undefined

/**
 * The service that is measured: each event has its effect once by its id, the state of its key is replaced, and it has
 * one output if `publish` is given. `handled` is called for each message.
 */
export function eventService(
  name: string,
  topics: { readonly input: string; readonly output: string },
  publish: Publishing,
  handled: () => void,
): Service {
  const input = topic(topics.input, { key: text, value: json(anyReading) })
  const output = topic(topics.output, { key: text, value: json(anyReading) })
  const common = {
    inputs: [input],
    state: json(anyReading),
    idempotency: { by: 'event-id', window: '7d' },
  } as const
  if (publish === undefined) {
    return defineService(name, {
      ...common,
      async handle({ value }, { state }) {
        handled()
        await state.put(transform(value))
      },
    })
  }
  return defineService(name, {
    ...common,
    outputs: [output],
    publish,
    async handle({ key, value }, { state }) {
      handled()
      const changed = transform(value)
      await state.put(changed)
      return output.message({ key, value: changed })
    },
  })
}
