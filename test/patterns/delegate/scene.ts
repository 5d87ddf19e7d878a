import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import {
  delegate,
  json,
  type OutputMessage,
  type Service,
  text,
  topic,
} from '../../../src/index.ts'
import type { CallContext, DelegateDefinition } from '../../../src/patterns/delegate/definition.ts'
import { systemClock } from '../../../src/system-clock.ts'
import {
  type ManualClock,
  type TestRuntime,
  type TestRuntimeOptions,
  testRuntime,
} from '../../../src/testing/index.ts'
import { stopsAtFailure } from '../../stops-at-failure.ts'

export const questions = topic('questions', { key: text, value: text, create: { partitions: 1 } })
export const answers = topic('answers', { key: text, value: text, create: { partitions: 1 } })
export const versions = topic('versions', {
  key: text,
  value: json(z.object({ version: z.number() })),
  create: { partitions: 2 },
})

/** The machine's time, for a test runtime beside real servers. */
export const realClock: ManualClock = {
  ...systemClock,
  advance: async () => {},
} as unknown as ManualClock

/** A question whose text is its key. */
export function ask(key: string, value: string = key): OutputMessage {
  return questions.message({ key, value })
}

export type Options = Partial<
  DelegateDefinition<typeof questions, readonly [typeof answers], string>
>

/** A delegate that publishes what `call` answers. */
export function answering(
  call: (question: string, context: CallContext) => string | Promise<string>,
  options: Options = {},
): Service {
  return delegate('answer', {
    input: questions,
    outputs: [answers],
    call: ({ value }, context) => call(value, context),
    handle: (value, { key }) => answers.message({ key, value }),
    ...stopsAtFailure,
    ...options,
  } as DelegateDefinition<typeof questions, readonly [typeof answers], string>)
}

/** A call that fails with these one after the other, and then answers. */
export function stumbling(...errors: unknown[]): (question: string) => string {
  return (question) => {
    const error = errors.shift()
    if (error !== undefined) throw error
    return `${question}!`
  }
}

/** An error that says how the called service answered. */
export function status(code: number, after?: number): Error {
  return Object.assign(new Error(`status ${code}`), { status: code, after })
}

/** Moves the clock until the work is done; resolves when `work` does. */
export async function moving<T>(
  { clock }: Pick<TestRuntime, 'clock'>,
  work: Promise<T>,
  step = 50,
): Promise<T> {
  let isOver = false
  const end = (): void => {
    isOver = true
  }
  work.then(end, end)
  while (!isOver) {
    await setImmediate()
    await clock.advance(step)
  }
  return await work
}

/** Runs a service over these messages until all are handled, and gives the answers' values. */
export async function answersTo(
  service: Service,
  messages: readonly OutputMessage[],
  options?: TestRuntimeOptions,
): Promise<{ values: string[]; own: Readonly<Record<string, number>>; took: number }> {
  await using runtime = await testRuntime(service, options)
  const start = runtime.clock.now()
  await runtime.send(...messages)
  await moving(runtime, runtime.settled())
  const found = await runtime.messages(answers)
  const own = runtime.counts[0]?.own
  assert.ok(own)
  return { values: found.map(({ value }) => value), own, took: runtime.clock.now() - start }
}
