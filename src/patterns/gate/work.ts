import { NonRetryableError } from '../../handler-errors.ts'
import type { Message } from '../../message.ts'
import type { ScheduledContext } from '../../schedule.ts'
import type { HandlerContext, MessageResult } from '../../service.ts'
import type { AnyTopic, OutputMessage } from '../../topic.ts'
import { Brought } from './brought.ts'
import type { Room } from './room.ts'
import type { Row } from './row.ts'
import { type Arrival, arrive, deadline, expire, type Moment, open, type Rules } from './rules.ts'
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
  readonly #room: Room | undefined
  readonly #keyOf: (message: Message) => unknown
  readonly #forget: number | undefined

  constructor(
    rules: Rules,
    table: GateTable,
    room: Room | undefined,
    keyOf: ((message: Message) => unknown) | undefined,
    forget: number | undefined,
  ) {
    this.#rules = rules
    this.#table = table
    this.#room = room
    this.#keyOf = keyOf ?? (({ key }) => key)
    this.#forget = forget
  }

  /** Takes in what has come. A gate opens in the message that completes it, whatever else of its key is in the batch. */
  async takeIn<M extends Message>(
    messages: readonly M[],
    { db, clock, count, gauge, log }: HandlerContext & Db,
  ): Promise<readonly MessageResult<M, AnyTopic>[]> {
    const moment = { now: clock.now(), count: this.#counting(count) }
    const brought = messages.map((message) => new Brought(message, this.#broughtBy(message)))
    const first = new Map<string, Brought<M>>()
    for (const one of brought)
      if (one.key !== undefined && !first.has(one.key)) first.set(one.key, one)
    if (first.size > 0) {
      await this.#table.prepare(db, log)
      const refused = await this.#room?.refused(db, [...first.keys()], { now: moment.now, log })
      // The others come again at once without those, as what was written beside a failure is taken back.
      if (refused !== undefined && refused.size > 0)
        return brought.map(({ message, key = '' }) =>
          refused.has(key) ? { message, error: this.#room?.error } : { message },
        )
      await this.#takeFirst(db, first, moment)
      await this.#takeOthers(
        db,
        brought.filter(({ left }) => left.length > 0),
        moment,
      )
    }
    if (this.#room !== undefined) gauge('gate_open', this.#room.open)
    return brought.map(({ message, outputs, error }) => ({ message, outputs, error }))
  }

  #counting(count: HandlerContext['count']): Moment['count'] {
    return (name) => {
      count(name)
      this.#room?.note(name)
    }
  }

  /** The first fact of each key, unless its gate was at its end: then it is left. */
  async #takeFirst(
    db: GateDatabase,
    first: ReadonlyMap<string, Brought<Message>>,
    moment: Moment,
  ): Promise<void> {
    const { now, count } = moment
    const arrivals = [...first].map(([key, { left }]) => ({ key, ...(left[0] as Arrival) }))
    const expiresAt = deadline(this.#rules, now)
    const taken = await this.#table.arrivals.store(db, arrivals, now, expiresAt)
    for (const [key, brought] of first) {
      const one = taken.get(key)
      if (one === undefined) continue
      brought.left.shift()
      if (!one.isNew) count('repeated')
      else if (one.isOnly) count('begun')
      const { completed: kept } = one
      if (kept !== undefined)
        await brought.add(() => open(this.#rules, { key, kept: [...kept] }, moment))
    }
  }

  /** Later facts of the same keys, and those of gates at their end: by the rules, one after the other. */
  async #takeOthers(
    db: GateDatabase,
    brought: readonly Brought<Message>[],
    moment: Moment,
  ): Promise<void> {
    if (brought.length === 0) return
    const rows = await this.#table.locked(db, [...new Set(brought.map(({ key = '' }) => key))])
    const byKey = new Map(rows.map((row) => [row.key, row]))
    for (const one of brought) {
      // Each of them is there since the first of its facts at the latest.
      const row = byKey.get(one.key ?? '') as Row
      for (const arrival of one.left) await one.add(() => arrive(this.#rules, row, arrival, moment))
    }
    await this.#table.write(db, rows)
  }

  /** Ends gates that have waited too long, and removes those that ended long ago: a part of them. */
  async tidy({
    db,
    now,
    count,
    gauge,
    again,
    log,
  }: ScheduledContext & Db): Promise<readonly OutputMessage[]> {
    await this.#table.prepare(db, log)
    const outputs: OutputMessage[] = []
    const rows = await this.#table.takeDue(db, now, slice)
    const moment = { now, count: this.#counting(count) }
    for (const row of rows) outputs.push(...(await expire(this.#rules, row, moment)))
    if (this.#room !== undefined) gauge('gate_open', this.#room.open)
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
