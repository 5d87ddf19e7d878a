import { PolluxError, shown } from '../errors.ts'
import type { RawMessage } from '../message.ts'

/**
 * How long a poll waits for a record before it resolves with none, in milliseconds. By the machine's time: a clock
 * that a test moves by a week would end this wait half a million times.
 */
const longestWait = 1_000

interface Pending {
  readonly max: number
  resolve(records: readonly RawMessage[]): void
  reject(error: unknown): void
  cancelTimer(): void
}

/** A poll that stays pending until there is something to deliver. */
export class PollWait {
  readonly #gather: (max: number) => readonly RawMessage[]
  #pending: Pending | undefined

  /** `gather` takes what can be delivered now; it may throw. */
  constructor(gather: (max: number) => readonly RawMessage[]) {
    this.#gather = gather
  }

  poll(max: number): Promise<readonly RawMessage[]> {
    if (!Number.isInteger(max) || max < 1) return Promise.reject(invalidMax(max))
    if (this.#pending !== undefined) return Promise.reject(secondPoll())
    const { promise, resolve, reject } = Promise.withResolvers<readonly RawMessage[]>()
    const pending: Pending = { max, resolve, reject, cancelTimer: () => {} }
    this.#pending = pending
    this.wake()
    if (this.#pending !== pending) return promise
    const timer = setTimeout(() => this.end(), longestWait).unref()
    this.#pending = { ...pending, cancelTimer: () => clearTimeout(timer) }
    return promise
  }

  /** Something may have come. */
  wake(): void {
    const pending = this.#pending
    if (pending === undefined) return
    try {
      const records = this.#gather(pending.max)
      if (records.length === 0) return
      this.#settle(pending)
      pending.resolve(records)
    } catch (error: unknown) {
      this.fail(error)
    }
  }

  /** Resolves a pending poll with nothing. */
  end(): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#settle(pending)
    pending.resolve([])
  }

  /** Rejects a pending poll; false when there is none to tell it to. */
  fail(error: unknown): boolean {
    const pending = this.#pending
    if (pending === undefined) return false
    this.#settle(pending)
    pending.reject(error)
    return true
  }

  #settle(pending: Pending): void {
    this.#pending = undefined
    pending.cancelTimer()
  }
}

function invalidMax(max: number): PolluxError {
  return new PolluxError('POLLUX_OPTION_INVALID', 'A poll cannot return that many records.', {
    expected: 'a whole number from 1',
    found: shown(max),
  })
}

function secondPoll(): PolluxError {
  return new PolluxError('POLLUX_BROKER_REFUSED', 'A poll is pending already.', {
    expected: 'one poll at a time',
    hint: 'Await the first one.',
  })
}
