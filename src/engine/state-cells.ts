import type { Codec } from '../codecs/codec.ts'
import { errorText, PolluxError } from '../errors.ts'
import type { StateRow } from '../ports/store.ts'
import type { State } from '../service.ts'
import { encodeExactly } from './outputs.ts'
import type { Cell, Work } from './partition.ts'

/**
 * The states in use. A key's handlers run one after the other (its lane), so a cell has one writer at a time; the next
 * message of a key sees the last one's change before it is committed.
 */
export class StateCells {
  readonly #load: (keys: readonly Buffer[]) => Promise<readonly StateRow[]>
  readonly #cells = new Map<string, { readonly cell: Cell; readonly loaded: Promise<void> }>()
  #wanted: {
    readonly key: Buffer
    readonly resolve: (row: StateRow) => void
    readonly reject: (cause: unknown) => void
  }[] = []

  constructor(load: (keys: readonly Buffer[]) => Promise<readonly StateRow[]>) {
    this.#load = load
  }

  /** The cell of a key; to be given back by `release`. */
  async take(key: Buffer): Promise<Cell> {
    const { cell, loaded } = this.#cells.get(nameOf(key)) ?? this.#add(key)
    // Counted before the first await: the commit of the last change could otherwise come in between, forget the cell,
    // and the next message of the key would start from a second one.
    cell.users += 1
    await loaded
    return cell
  }

  #add(key: Buffer): { readonly cell: Cell; readonly loaded: Promise<void> } {
    const cell: Cell = { key, value: null, version: 0, users: 0, isInvalid: false }
    const loaded = this.#read(key).then(
      ({ value, version }) => {
        cell.value = value
        cell.version = version
      },
      (cause: unknown) => {
        this.#forget(cell)
        throw cause
      },
    )
    const entry = { cell, loaded }
    this.#cells.set(nameOf(key), entry)
    return entry
  }

  release(cell: Cell): void {
    cell.users -= 1
    if (cell.users === 0) this.#forget(cell)
  }

  /** Makes everything that was built on this cell's uncommitted value uncommittable. */
  invalidate(cell: Cell): void {
    cell.isInvalid = true
    this.#forget(cell)
  }

  #forget(cell: Cell): void {
    const name = nameOf(cell.key)
    if (this.#cells.get(name)?.cell === cell) this.#cells.delete(name)
  }

  /** All keys asked for in the same turn are read at once. */
  #read(key: Buffer): Promise<StateRow> {
    return new Promise((resolve, reject) => {
      this.#wanted.push({ key, resolve, reject })
      if (this.#wanted.length === 1) queueMicrotask(() => void this.#readWanted())
    })
  }

  async #readWanted(): Promise<void> {
    const wanted = this.#wanted
    this.#wanted = []
    try {
      const rows = await this.#load(wanted.map(({ key }) => key))
      wanted.forEach(({ resolve }, index) => resolve(rows[index] ?? { value: null, version: 0 }))
    } catch (cause) {
      for (const { reject } of wanted) reject(cause)
    }
  }
}

function nameOf(key: Buffer): string {
  return key.toString('latin1')
}

/** What one attempt of a handler sees of its key's state. Its changes count when the attempt succeeds. */
export class AttemptState implements State<unknown> {
  readonly #cells: StateCells
  readonly #codec: Codec<unknown, unknown>
  readonly #work: Work
  #cell: Promise<Cell> | undefined
  #held: Cell | undefined
  #change: Buffer | null | undefined
  #isOver = false
  readonly #pending = new Set<Promise<unknown>>()

  constructor(cells: StateCells, codec: Codec<unknown, unknown>, work: Work) {
    this.#cells = cells
    this.#codec = codec
    this.#work = work
  }

  get(): Promise<unknown> {
    return this.#use(() => this.#get())
  }

  put(value: unknown): Promise<void> {
    return this.#use(() => this.#put(value))
  }

  delete(): Promise<void> {
    return this.#use(() => this.#delete())
  }

  /** Remembers a call until it is answered, so that one that nobody waited for is noticed. */
  #use<T>(call: () => Promise<T>): Promise<T> {
    const answer = call().finally(() => this.#pending.delete(answer))
    this.#pending.add(answer)
    return answer
  }

  async #get(): Promise<unknown> {
    const cell = await this.#take()
    const bytes = this.#change === undefined ? cell.value : this.#change
    if (bytes !== null) return this.#decode(bytes)
    return this.#codec.nullable ? null : undefined
  }

  async #decode(bytes: Buffer): Promise<unknown> {
    try {
      return await this.#codec.decode(bytes)
    } catch (cause) {
      throw new PolluxError(
        'POLLUX_DECODE_FAILED',
        `The state that ${this.#work} needs cannot be decoded: ${errorText(cause)}`,
        {
          hint: 'Was it stored under another schema? A new schema has to take the old states, too.',
          cause,
        },
      )
    }
  }

  async #put(value: unknown): Promise<void> {
    this.#check()
    const bytes = value === null && this.#codec.nullable ? null : encodeExactly(this.#codec, value)
    await this.#take()
    this.#change = bytes
  }

  async #delete(): Promise<void> {
    await this.#take()
    this.#change = null
  }

  /**
   * Ends a successful attempt: its change becomes what the next message of the key sees.
   * @throws POLLUX_STATE_UNAVAILABLE when the handler did not wait for a use of state, which would be lost.
   */
  keep(): void {
    if (this.#pending.size > 0) throw this.#ended()
    this.#isOver = true
    const cell = this.#held
    if (cell === undefined) return
    this.#work.cell = cell
    if (this.#change === undefined) return this.#cells.release(cell)
    cell.value = this.#change
    this.#work.change = { cell, value: this.#change }
  }

  /** Ends a failed attempt. */
  drop(): void {
    this.#isOver = true
    // The attempt has failed; that nobody waits for these is no further news, and must not end the process.
    for (const answer of this.#pending) answer.catch(() => {})
    if (this.#held !== undefined) this.#cells.release(this.#held)
  }

  async #take(): Promise<Cell> {
    this.#check()
    this.#cell ??= this.#cells.take(this.#key())
    const cell = await this.#cell
    // A handler that did not await this call may have ended meanwhile; then the cell goes back at once.
    if (this.#isOver && this.#held === undefined) {
      this.#held = cell
      this.#cells.release(cell)
    }
    this.#check()
    this.#held = cell
    return cell
  }

  #key(): Buffer {
    const { key } = this.#work.raw
    if (key !== null) return key
    throw new PolluxError(
      'POLLUX_STATE_UNAVAILABLE',
      `${this.#work} has no key, so it has no state.`,
    )
  }

  #check(): void {
    if (this.#isOver) throw this.#ended()
  }

  #ended(): PolluxError {
    return new PolluxError('POLLUX_STATE_UNAVAILABLE', `The handler of ${this.#work} has ended.`, {
      hint: 'Await every use of state before the handler returns.',
    })
  }
}
