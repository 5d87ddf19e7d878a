import { errorText } from '../errors.ts'
import { nextWait, pause } from '../pause.ts'
import type { PatienceParts } from './patience.ts'

const what = 'repeating a transaction'

/**
 * Patience with transactions of handlers: what passes by itself takes one back, and it is done again from its first
 * message on, after growing and jittered waits. One log line when trouble begins, one when a commit is answered
 * again; meanwhile the process is not ready.
 */
export class Setbacks {
  readonly #parts: PatienceParts
  /** Since the last one that was committed. */
  #count = 0
  #endWait: (() => void) | undefined

  constructor(parts: PatienceParts) {
    this.#parts = parts
  }

  /** A transaction begins. */
  begin(): void {
    if (this.#count > 0) this.#wait()
  }

  /** It was taken back. Resolves when it may be done again. */
  async again(cause: Error): Promise<void> {
    const { clock, logger, signal } = this.#parts
    if (this.#count === 0)
      logger.warn(
        { error: errorText(cause) },
        'a transaction was taken back: repeating it until it works',
      )
    this.#wait()
    // Once is no trouble yet: of two transactions in a deadlock, the other one has gone on.
    if (this.#count > 0) await pause(clock, nextWait(clock, this.#count - 1), signal)
    this.#count += 1
  }

  /** The store has answered its commit. */
  answered(): void {
    if (this.#count === 0) return
    this.#parts.logger.info(
      { attempts: this.#count + 1 },
      'a transaction was taken back: it works again',
    )
    this.#count = 0
    this.#parts.recovered()
  }

  /** It is over, one way or the other: with nothing left to do, nobody waits. */
  end(): void {
    this.#endWait?.()
    this.#endWait = undefined
  }

  #wait(): void {
    this.#endWait ??= this.#parts.waits.begin(what)
  }
}
