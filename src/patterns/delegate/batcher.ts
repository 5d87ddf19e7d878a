import type { Clock } from '../../ports/clock.ts'
import type { HandlerContext } from '../../service.ts'
import { stopped } from './barrier.ts'
import { classify } from './classify.ts'

/** A message that waits to be called with others. */
export interface Entry<M> {
  readonly message: M
  readonly idempotencyKey: string
  readonly context: HandlerContext
}

interface Waiting<M, R> extends Entry<M> {
  resolve(result: R): void
  reject(error: unknown): void
}

/** What a batcher needs of its surroundings. */
export interface BatcherParts<M, R> {
  readonly size: number
  /** Milliseconds that the first message of a batch waits for others. */
  readonly wait: number
  readonly clock: Clock
  /** Resolves when a call may be made, or `stopping` is aborted; what comes meanwhile joins the batch. May reject. */
  turn(context: Pick<HandlerContext, 'clock' | 'log' | 'stopping'>): Promise<void>
  /** A result or an error for each. */
  call(entries: readonly Entry<M>[]): Promise<readonly (R | Error)[]>
}

/** Gathers the messages of handlers that run at once, by number and time, and calls with all of them. */
export class Batcher<M, R> {
  readonly #parts: BatcherParts<M, R>
  readonly #waiting: Waiting<M, R>[] = []
  #cancel: (() => void) | undefined
  #isFlushing = false
  #nobodyWaits = new AbortController()

  constructor(parts: BatcherParts<M, R>) {
    this.#parts = parts
  }

  /** The result for one. @throws what the call failed with; POLLUX_RETRY_LATER when `stopping` comes before its call. */
  async add(entry: Entry<M>): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    const waiting = { ...entry, resolve, reject }
    const leave = (): void => {
      const index = this.#waiting.indexOf(waiting)
      if (index < 0) return
      this.#waiting.splice(index, 1)
      if (this.#waiting.length === 0) this.#nobodyWaits.abort()
      reject(stopped('a batch gathers'))
    }
    this.#waiting.push(waiting)
    entry.context.stopping.addEventListener('abort', leave)
    if (this.#waiting.length >= this.#parts.size) void this.#flush()
    else this.#schedule()
    try {
      return await promise
    } finally {
      entry.context.stopping.removeEventListener('abort', leave)
    }
  }

  #schedule(): void {
    if (this.#isFlushing) return
    this.#cancel ??= this.#parts.clock.after(this.#parts.wait, () => void this.#flush())
  }

  async #flush(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#isFlushing) return
    this.#isFlushing = true
    do {
      this.#nobodyWaits = new AbortController()
      const isReady = await this.#turn(this.#waiting, this.#nobodyWaits.signal)
      if (isReady) void this.#call(this.#waiting.splice(0, this.#parts.size))
    } while (this.#waiting.length >= this.#parts.size)
    this.#isFlushing = false
    if (this.#waiting.length > 0) this.#schedule()
  }

  /** A turn for some of these. When there is none for too long, all of them are told why. */
  async #turn(entries: Waiting<M, R>[], stopping: AbortSignal): Promise<boolean> {
    const [first] = entries
    if (first === undefined) return false
    const { clock, log } = first.context
    try {
      await this.#parts.turn({ clock, log, stopping })
      return true
    } catch (error) {
      for (const entry of entries.splice(0)) entry.reject(error)
      return false
    }
  }

  async #call(entries: readonly Waiting<M, R>[]): Promise<void> {
    if (entries.length === 0) return
    try {
      const results = await this.#parts.call(entries)
      if (results.length !== entries.length)
        throw new Error(`callMany gave ${results.length} results for ${entries.length} messages.`)
      for (const [index, entry] of entries.entries()) settle(entry, results[index] as R | Error)
    } catch (error) {
      if (entries.length === 1 || classify(error).kind !== 'permanent') {
        for (const entry of entries) entry.reject(error)
      } else {
        await this.#callHalves(entries)
      }
    }
  }

  /** One message that is refused must not take the others with it, so it is looked for. */
  async #callHalves(entries: readonly Waiting<M, R>[]): Promise<void> {
    const middle = Math.ceil(entries.length / 2)
    for (const half of [entries.slice(0, middle), entries.slice(middle)]) {
      // They are in work, and finished within what a stop grants.
      const signal = half[0]?.context.signal ?? AbortSignal.abort()
      if (await this.#turn(half, signal)) await this.#call(half)
    }
  }
}

function settle<M, R>(entry: Waiting<M, R>, result: R | Error): void {
  if (result instanceof Error) entry.reject(result)
  else entry.resolve(result)
}
