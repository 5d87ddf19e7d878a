import type { Message } from '../../message.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HandlerContext } from '../../service.ts'
import { awaitTurn } from './allowance.ts'
import { Barrier } from './barrier.ts'
import { Batcher, type Entry } from './batcher.ts'
import { ContentCache } from './content-cache.ts'
import { deliver } from './deliver.ts'
import type { Target } from './target.ts'
import { timed } from './timed.ts'

/** A delegate at work: what its calls have in common. */
export class Delegation<M extends Message, R> {
  readonly #target: Target<M, R>
  readonly #barrier: Barrier
  readonly #cache: ContentCache<R> | undefined
  readonly #batcher: Batcher<M, R> | undefined

  constructor(target: Target<M, R>, clock: Clock) {
    const { settings, cache, many } = target
    this.#target = target
    this.#barrier = new Barrier(settings, clock)
    this.#cache = cache && new ContentCache(cache, clock)
    this.#batcher =
      many &&
      new Batcher({
        ...many,
        clock,
        turn: async (context) => {
          await awaitTurn(settings.limiter, context)
          // Since they were let through, another call may have been turned away.
          await this.#barrier.rest(context.stopping)
        },
        call: (entries) => this.#callMany(many.call, entries),
      })
  }

  /** The result for a message, however long it takes. @throws as `deliver` does. */
  async result(message: M, context: HandlerContext): Promise<R> {
    const content = this.#contentOf(message)
    const known = content === undefined ? undefined : this.#cache?.get(content)
    if (known !== undefined) {
      context.count('cached')
      return known.result
    }
    const { settings, classify, service } = this.#target
    const idempotencyKey = `${service}:${message.topic}:${message.id}`
    const result = await deliver({
      settings,
      barrier: this.#barrier,
      takesTurns: this.#batcher === undefined,
      context,
      classify,
      call: (attempt) => this.#call(message, { context, idempotencyKey, attempt }),
    })
    if (content !== undefined) this.#cache?.set(content, result)
    return result
  }

  #contentOf(message: M): string | Uint8Array | undefined {
    const { cache } = this.#target
    if (cache === undefined) return undefined
    return cache.by === undefined ? (message.raw.value ?? undefined) : cache.by(message)
  }

  async #call(
    message: M,
    { context, idempotencyKey, attempt }: Omit<Entry<M>, 'message'> & { readonly attempt: number },
  ): Promise<R> {
    const { call, settings } = this.#target
    if (this.#batcher !== undefined)
      return await this.#batcher.add({ message, context, idempotencyKey })
    const { clock, log, signal: outer } = context
    return await timed({ clock, limit: settings.timeLimit, outer }, (signal) =>
      (call as NonNullable<typeof call>)(message, { signal, idempotencyKey, attempt, clock, log }),
    )
  }

  async #callMany(
    call: NonNullable<Target<M, R>['many']>['call'],
    entries: readonly Entry<M>[],
  ): Promise<readonly (R | Error)[]> {
    const [{ context }] = entries as [Entry<M>]
    const { clock, log } = context
    const everybody = allAborted(entries.map((entry) => entry.context.signal))
    const limits = { clock, limit: this.#target.settings.timeLimit, outer: everybody.signal }
    try {
      return await timed(limits, (signal) =>
        call(
          entries.map(({ message }) => message),
          {
            signal,
            idempotencyKeys: entries.map(({ idempotencyKey }) => idempotencyKey),
            clock,
            log,
          },
        ),
      )
    } finally {
      everybody.release()
    }
  }
}

/** A signal that is aborted once all of these are. */
function allAborted(signals: readonly AbortSignal[]): {
  readonly signal: AbortSignal
  release(): void
} {
  const controller = new AbortController()
  const look = (): void => {
    if (signals.every(({ aborted }) => aborted)) controller.abort()
  }
  for (const signal of signals) signal.addEventListener('abort', look)
  const release = (): void => {
    for (const signal of signals) signal.removeEventListener('abort', look)
  }
  look()
  return { signal: controller.signal, release }
}
