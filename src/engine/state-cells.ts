import type { Codec } from '../codecs/codec.ts'
import { errorText, PolluxError } from '../errors.ts'
import type { State } from '../service.ts'
import { encodeExactly } from './outputs.ts'
import type { Cell, Work } from './partition.ts'

/**
 * The states in use. A key's handlers run one after the other (its lane), so a cell has one writer at a time; the next
 * message of a key sees the last one's change before it is committed.
 */
export class StateCells {
  readonly #cells = new Map<string, Cell>()

  /** The cell of a key, to be given back by `release`; `isNew` when its value has to be read. */
  take(name: string, key: Buffer): { readonly cell: Cell; readonly isNew: boolean } {
    const known = this.#cells.get(name)
    if (known !== undefined) {
      known.users += 1
      return { cell: known, isNew: false }
    }
    const cell = {
      name,
      key,
      value: null,
      guard: null,
      version: 0,
      users: 1,
      isInvalid: false,
      edition: 0,
    }
    this.#cells.set(name, cell)
    return { cell, isNew: true }
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
    if (this.#cells.get(cell.name) === cell) this.#cells.delete(cell.name)
  }
}

/**
 * What one attempt of a handler sees of its key's state. Its changes count when the attempt succeeds. The state is there
 * already when a handler starts, so a change takes place when it is called, not when its promise is awaited.
 */
export class AttemptState implements State<unknown> {
  readonly #codec: Codec<unknown, unknown>
  readonly #work: Work
  #change: Buffer | null | undefined
  /** Of the last change. */
  #failure: { readonly cause: unknown } | undefined
  /** Reads that are not answered yet. */
  #reading = 0
  #isOver = false

  constructor(codec: Codec<unknown, unknown>, work: Work) {
    this.#codec = codec
    this.#work = work
  }

  async get(): Promise<unknown> {
    const cell = this.#cell()
    const bytes = this.#change === undefined ? cell.value : this.#change
    this.#reading += 1
    try {
      return await (bytes === null ? this.#none : this.#decode(bytes))
    } finally {
      this.#reading -= 1
    }
  }

  get #none(): null | undefined {
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

  put(value: unknown): Promise<void> {
    return this.#set(() =>
      value === null && this.#codec.nullable ? null : encodeExactly(this.#codec, value),
    )
  }

  delete(): Promise<void> {
    return this.#set(() => null)
  }

  #set(encode: () => Buffer | null): Promise<void> {
    try {
      this.#cell()
    } catch (cause) {
      return Promise.reject(cause)
    }
    try {
      this.#change = encode()
      this.#failure = undefined
      return done
    } catch (cause) {
      // A handler that does not wait for the answer would not notice; so it fails the attempt, too.
      this.#failure = { cause }
      const answer = Promise.reject(cause)
      answer.catch(() => {})
      return answer
    }
  }

  /**
   * Ends a successful attempt. What it made of the state: undefined when it left it as it was.
   * @throws what its last change failed with; POLLUX_STATE_UNAVAILABLE when the handler did not wait for a read.
   */
  end(): Buffer | null | undefined {
    if (this.#reading > 0) throw this.#ended()
    if (this.#failure !== undefined) throw this.#failure.cause
    this.#isOver = true
    return this.#change
  }

  /** Ends a failed attempt. */
  drop(): void {
    this.#isOver = true
  }

  #cell(): Cell {
    if (this.#isOver) throw this.#ended()
    const cell = this.#work.effects?.cell
    if (cell !== undefined) return cell
    throw new PolluxError(
      'POLLUX_STATE_UNAVAILABLE',
      `${this.#work} has no key, so it has no state.`,
    )
  }

  #ended(): PolluxError {
    return new PolluxError('POLLUX_STATE_UNAVAILABLE', `The handler of ${this.#work} has ended.`, {
      hint: 'Await every use of state before the handler returns.',
    })
  }
}

const done = Promise.resolve()
