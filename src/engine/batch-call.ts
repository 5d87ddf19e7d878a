import { PolluxError, shown } from '../errors.ts'
import type { Message } from '../message.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { HandlerContext, Outputs } from '../service.ts'
import type { AnyTopic } from '../topic.ts'
import { Attempt, type AttemptParts } from './attempt.ts'
import { decodeMessage } from './message.ts'
import type { Partition, Work } from './partition.ts'
import { TimeLimit } from './time-limit.ts'

/** A message of a batch, ready for its handler. */
export interface Decoded {
  readonly work: Work
  readonly message: Message
}

/** What a call came to for one message. */
export interface Verdict {
  readonly given: Decoded
  /** Ended, successfully unless there is an error. */
  readonly attempt: Attempt
  readonly error: PolluxError | undefined
}

/** Decodes them; a message that cannot be decoded has the cause in the place of its message. */
export async function decodeAll(
  works: readonly Work[],
): Promise<readonly (Decoded | { readonly work: Work; readonly cause: unknown })[]> {
  return await Promise.all(
    works.map(async (work) => {
      try {
        return { work, message: await decodedOf(work) }
      } catch (cause) {
        return { work, cause }
      }
    }),
  )
}

function decodedOf({ effects, raw, partition }: Work): Message | Promise<Message> {
  if (effects?.trouble !== undefined) throw effects.trouble
  return effects?.message ?? decodeMessage(raw, partition.definition)
}

/**
 * Calls the handler once, and tells what became of each message, in their order. Rejects when the call as a whole has
 * failed: its handler has thrown, or has returned what cannot be told apart.
 */
export async function callForMany(
  attempts: AttemptParts,
  given: readonly Decoded[],
  granted?: Readonly<Record<string, unknown>>,
): Promise<readonly Verdict[]> {
  const { service } = attempts
  const messages = given.map(({ message }) => message)
  const { timeLimit } = service.options.retry
  const limit = timeLimit === undefined ? undefined : new TimeLimit(attempts.clock, timeLimit)
  const context = new BatchContext(attempts, given, limit)
  if (granted !== undefined) Object.assign(context, granted)
  const running = service.handleMany?.(messages as never, context as never)
  const returned = await (limit?.of(running) ?? running)
  const outputsOf = resultsOf(returned, messages)
  return given.map((one) => {
    const attempt = new Attempt(attempts, one.work)
    try {
      attempt.end(outputsOf(one.message))
      return { given: one, attempt, error: undefined }
    } catch (cause) {
      return { given: one, attempt, error: attempt.fail(cause) }
    }
  })
}

class BatchContext implements HandlerContext {
  readonly log: Logger
  readonly clock: Clock
  readonly count: HandlerContext['count']
  readonly waiting: HandlerContext['waiting']
  readonly gauge: HandlerContext['gauge']
  readonly #given: readonly Decoded[]
  readonly #limit: TimeLimit | undefined
  #signal: AbortSignal | undefined
  #stopping: AbortSignal | undefined

  constructor(
    { logger, clock, count, gauge, waiting }: AttemptParts,
    given: readonly Decoded[],
    limit: TimeLimit | undefined,
  ) {
    this.#limit = limit
    this.log = logger
    this.clock = clock
    this.count = (name, by = 1) => count(name, by)
    this.waiting = (what) => waiting(what)
    this.gauge = (name, value) => gauge(name, value)
    this.#given = given
  }

  // Most handlers do not ask for the two, and one made of several costs something.
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const signal = anyOf(this.#given, (partition) => partition.signal)
      this.#signal = this.#limit?.signal(signal) ?? signal
    }
    return this.#signal
  }

  get stopping(): AbortSignal {
    this.#stopping ??= anyOf(this.#given, ({ closing }) => closing)
    return this.#stopping
  }
}

function anyOf(
  given: readonly Decoded[],
  signalOf: (partition: Partition) => AbortSignal,
): AbortSignal {
  const signals = new Set(given.map(({ work }) => signalOf(work.partition)))
  const [first] = signals
  return first !== undefined && signals.size === 1 ? first : AbortSignal.any([...signals])
}

interface Result {
  readonly message: Message
  readonly outputs?: Outputs<AnyTopic>
  readonly error?: unknown
}

/** What was returned for a message: its outputs, or its error, thrown. */
function resultsOf(
  returned: unknown,
  messages: readonly Message[],
): (message: Message) => Outputs<AnyTopic> {
  if (returned === undefined || returned === null) return () => undefined
  if (!Array.isArray(returned)) throw wrong('a list of results, or nothing', shown(returned))
  const given = new Set(messages)
  const results = new Map<Message, Result>()
  for (const result of returned as Partial<Result>[]) {
    const { message } = result ?? {}
    if (message === undefined || !given.has(message))
      throw wrong('results for messages that it was given, each the very object', shown(result))
    if (results.has(message)) throw wrong('one result for each message', 'two for the same one')
    results.set(message, { ...result, message })
  }
  return (message) => {
    const result = results.get(message)
    if (result === undefined) throw missing()
    if (result.error !== undefined) throw result.error
    return result.outputs
  }
}

function wrong(expected: string, found: string): PolluxError {
  return new PolluxError('POLLUX_HANDLER_FAILED', 'handleMany returned what has no meaning.', {
    expected,
    found,
  })
}

function missing(): Error {
  return new Error(
    'handleMany returned results, and none for this message; return one for each, or nothing when all were handled',
  )
}
