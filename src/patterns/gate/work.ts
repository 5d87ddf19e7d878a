import { NonRetryableError } from '../../handler-errors.ts'
import type { Message } from '../../message.ts'
import type { ScheduledContext } from '../../schedule.ts'
import type { HandlerContext, MessageResult } from '../../service.ts'
import type { AnyTopic, OutputMessage } from '../../topic.ts'
import type { Row } from './row.ts'
import { type Arrival, arrive, deadline, expire, type Rules } from './rules.ts'
import type { GateDatabase, GateTable } from './table.ts'

// How many gates one scheduled run ends or forgets: messages wait for its transaction.
const slice = 500

interface Db {
  readonly db: GateDatabase
}

/** What a gate's service does in its transactions. */
export class GateWork {
  readonly #rules: Rules
  readonly #table: GateTable
  readonly #keyOf: (message: Message) => unknown
  readonly #forget: number | undefined

  constructor(
    rules: Rules,
    table: GateTable,
    keyOf: ((message: Message) => unknown) | undefined,
    forget: number | undefined,
  ) {
    this.#rules = rules
    this.#table = table
    this.#keyOf = keyOf ?? (({ key }) => key)
    this.#forget = forget
  }

  /** Takes in what has come. A gate opens in the message that completes it, whatever else of its key is in the batch. */
  async takeIn<M extends Message>(
    messages: readonly M[],
    { db, clock, count }: HandlerContext & Db,
  ): Promise<readonly MessageResult<M, AnyTopic>[]> {
    const now = clock.now()
    const brought = messages.map((message) => ({ message, ...this.#broughtBy(message) }))
    const keys = brought.flatMap(({ key }) => (key === undefined ? [] : [key]))
    if (keys.length === 0) return messages.map((message) => ({ message }))
    await this.#table.prepare(db)
    const expiresAt = deadline(this.#rules, now)
    const rows = await this.#table.take(db, [...new Set(keys)], expiresAt)
    const byKey = new Map(rows.map((row) => [row.key, row]))
    const results: MessageResult<M, AnyTopic>[] = []
    for (const { message, key = '', arrivals } of brought) {
      const outputs: OutputMessage[] = []
      try {
        for (const arrival of arrivals) {
          // Each key that has arrivals was taken.
          const row = byKey.get(key) as Row
          outputs.push(...(await arrive(this.#rules, row, arrival, { now, count })))
        }
        results.push({ message, outputs })
      } catch (error: unknown) {
        results.push({ message, error })
      }
    }
    await this.#table.write(db, rows)
    return results
  }

  /** Ends gates that have waited too long, and removes those that ended long ago: a part of them. */
  async tidy({ db, now, count, again }: ScheduledContext & Db): Promise<readonly OutputMessage[]> {
    await this.#table.prepare(db)
    const outputs: OutputMessage[] = []
    const rows = await this.#table.takeDue(db, now, slice)
    for (const row of rows) outputs.push(...(await expire(this.#rules, row, { now, count })))
    await this.#table.write(db, rows)
    const forgotten =
      this.#forget === undefined ? 0 : await this.#table.forget(db, now - this.#forget, slice)
    if (forgotten > 0) count('forgotten', forgotten)
    if (rows.length === slice || forgotten === slice) again()
    return outputs
  }

  /** The facts in a message, and the key of their gate; undefined when there are none. */
  #broughtBy(message: Message): {
    readonly key: string | undefined
    readonly arrivals: readonly Arrival[]
  } {
    const given = message as never
    const arrivals = Object.values(this.#rules.facts).flatMap((fact, index): Arrival[] => {
      if (fact.topic.name !== message.topic || fact.when?.(given) === false) return []
      return [{ index, kept: asStored(fact.keep?.(given)) }]
    })
    if (arrivals.length === 0) return { key: undefined, arrivals }
    const key = this.#keyOf(message)
    if (typeof key === 'string') return { key, arrivals }
    throw new NonRetryableError('A fact has no key.', {
      expected: 'a text as its key',
      found: key === null ? 'null' : `a value of type ${typeof key}`,
      hint: 'Declare its topic with key: text, or give the gate a function `key`.',
    })
  }
}

/** As it will be when it has been in the table, so that `open` is given the same, whether it has been there or not. */
function asStored(kept: unknown): unknown {
  const text = JSON.stringify(kept)
  return text === undefined ? undefined : JSON.parse(text)
}
