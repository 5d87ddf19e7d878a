import { durationText } from '../duration.ts'
import { PolluxError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'

/** Cuts one try of a handler off that takes too long. It cannot be ended, so it is told, and what it does is ignored. */
export class TimeLimit {
  readonly #clock: Clock
  readonly #ms: number
  readonly #over = new AbortController()

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** The handler's signal: aborted when `outer` is, and when its time is over. */
  signal(outer: AbortSignal): AbortSignal {
    return AbortSignal.any([outer, this.#over.signal])
  }

  /** @throws POLLUX_HANDLER_TIMEOUT */
  async of<T>(returned: T | PromiseLike<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    const callOff = this.#clock.after(this.#ms, () => {
      const error = new PolluxError(
        'POLLUX_HANDLER_TIMEOUT',
        `The handler took longer than ${durationText(this.#ms)}, its retry.timeLimit.`,
      )
      reject(error)
      this.#over.abort(error)
    })
    try {
      return await Promise.race([returned, promise])
    } finally {
      callOff()
    }
  }
}
