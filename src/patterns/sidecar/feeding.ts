import { errorText, PolluxError } from '../../errors.ts'
import { RetryableError } from '../../handler-errors.ts'
import type { Message } from '../../message.ts'
import { nextWait, pause } from '../../pause.ts'
import type { RowChange, Rows } from '../../ports/target.ts'
import type { BatchResult, HandlerContext } from '../../service.ts'
import type { Mapping } from './mapping.ts'
import type { SidecarSettings } from './options.ts'

/** What messages of a batch came to. */
type Errors = Map<Message, unknown>

/** Feeds batches to a target, with patience while it is away. */
export class Feeding {
  readonly #mapping: Mapping
  readonly #rows: Rows
  readonly #settings: SidecarSettings
  /** Batches that wait for the target to come back. */
  #waiting = 0

  constructor(mapping: Mapping, rows: Rows, settings: SidecarSettings) {
    this.#mapping = mapping
    this.#rows = rows
    this.#settings = settings
  }

  async feed(
    messages: readonly Message[],
    context: HandlerContext,
  ): Promise<BatchResult<Message, never>> {
    const errors: Errors = new Map()
    const given = messages.flatMap((message) => {
      const change = this.#changeOf(message, context, errors)
      return change === undefined ? [] : [{ message, change }]
    })
    const changes = given.map(({ change }) => change)
    if (changes.length > 0) {
      const refusals = await this.#write(changes, context)
      for (const [index, { message }] of given.entries())
        if (refusals[index] !== undefined) errors.set(message, refusals[index])
    }
    if (errors.size === 0) return
    context.count('refused', errors.size)
    return messages.map((message) => ({ message, error: errors.get(message) }))
  }

  #changeOf(message: Message, { count }: HandlerContext, errors: Errors): RowChange | undefined {
    const { tombstones } = this.#settings
    try {
      if (message.tombstone && tombstones === 'refuse')
        throw new PolluxError('POLLUX_ROW_REFUSED', 'The message has no value.', {
          expected: "a value, as tombstones are 'refuse'",
        })
      if (message.tombstone && tombstones === 'ignore') return void count('tombstones')
      // Neither a key nor a value: there is nothing that it could mean.
      if (message.tombstone && message.key === null) return void count('empty')
      return this.#mapping.changeOf(message)
    } catch (error) {
      errors.set(message, error)
      return undefined
    }
  }

  /** Repeats what waiting can fix, without limit. One line when trouble begins, one when it is over. */
  async #write(
    changes: readonly RowChange[],
    { clock, log, signal, stopping, waiting }: HandlerContext,
  ): Promise<readonly unknown[]> {
    let endWait: (() => void) | undefined
    try {
      for (let attempt = 0; ; attempt += 1) {
        try {
          const refusals = await this.#rows.write(changes, signal)
          if (endWait !== undefined && this.#waiting === 1)
            log.info({ attempts: attempt + 1 }, `${this.#rows.name} works again`)
          return refusals
        } catch (error) {
          // Of each the first in its partition stops it; halves of the batch would come to the same.
          if (PolluxError.is(error, 'POLLUX_TARGET_FAILED')) return changes.map(() => error)
          if (!PolluxError.is(error, 'POLLUX_TARGET_UNREACHABLE')) throw error
          // Once is no trouble yet: of two transactions in a deadlock, the other one has gone on.
          if (attempt > 0 && endWait === undefined) {
            endWait = waiting(this.#rows.name)
            this.#waiting += 1
            if (this.#waiting === 1)
              log.warn({ error: errorText(error) }, 'waiting until the target works again')
          }
          if (attempt > 0) await pause(clock, nextWait(clock, attempt - 1), stopping)
          signal.throwIfAborted()
          if (stopping.aborted)
            throw new RetryableError('The target is away, and the partition is given up.', {
              cause: error,
            })
        }
      }
    } finally {
      if (endWait !== undefined) this.#waiting -= 1
      endWait?.()
    }
  }
}
