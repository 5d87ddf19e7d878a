import { PolluxError } from '../errors.ts'
import type { PostgresTransaction } from './postgres-transaction.ts'
import { transactionControl } from './transaction-control.ts'

type Send = (text: string, params: readonly unknown[]) => Promise<readonly object[]>

/** What one message's handler does in the transaction, and whether that may stand. */
export class TransactionAttempt {
  readonly #send: Send
  /** Settles, never rejects, when the last query has been answered: one is sent at a time. */
  #last: Promise<unknown> = Promise.resolve()
  #pending = 0
  #hasEnded = false
  /** Why what was written cannot stand. */
  #failure: unknown
  /** Whether there is anything to keep or to take back. */
  hasWritten = false
  readonly capability: PostgresTransaction

  constructor(send: Send) {
    this.#send = send
    this.capability = {
      query: <Row extends object>(text: string, params: readonly unknown[] = []) => {
        const answer = this.#query(text, params) as Promise<readonly Row[]>
        // A query that nobody awaits fails its attempt, not the process.
        answer.catch(() => {})
        return answer
      },
    }
  }

  /** Nothing can be asked from now on. Resolves when nothing is under way, to why the attempt failed, if it did. */
  async end(): Promise<unknown> {
    if (!this.#hasEnded && this.#pending > 0) {
      this.#failure ??= misused('The handler ended while a query of its transaction was under way.')
    }
    this.#hasEnded = true
    await this.#last
    return this.#failure
  }

  async #query(text: string, params: readonly unknown[]): Promise<readonly object[]> {
    if (this.#hasEnded) throw misused('A handler used its transaction after it had ended.')
    const command = transactionControl(text)
    if (command !== undefined) {
      throw misused(
        `A handler may not use '${command}' in its transaction.`,
        'The unit begins and ends it; throw an error to take back what the handler wrote.',
      )
    }
    const answer = this.#last.then(() => this.#ask(text, params))
    this.#pending += 1
    this.#last = answer.then(
      () => (this.#pending -= 1),
      () => (this.#pending -= 1),
    )
    return answer
  }

  async #ask(text: string, params: readonly unknown[]): Promise<readonly object[]> {
    if (this.#failure !== undefined) throw this.#failure
    this.hasWritten = true
    try {
      return await this.#send(text, params)
    } catch (cause) {
      this.#failure = misused(
        'A statement of the handler failed, which took back those before it; nothing can follow it.',
        'Let its error pass. To go on, ask first: `on conflict do nothing`, `where exists`, or a cast that cannot fail.',
        cause,
      )
      throw cause
    }
  }
}

function misused(
  message: string,
  hint = 'Await every query before the handler ends.',
  cause?: unknown,
): PolluxError {
  return new PolluxError('POLLUX_TRANSACTION_MISUSED', message, {
    hint,
    ...(cause === undefined ? {} : { cause }),
  })
}
