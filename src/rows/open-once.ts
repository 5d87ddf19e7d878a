import { PolluxError } from '../errors.ts'

/** Something that several have open and that is there once: the first opens it, the last one closes it. */
export class OpenOnce<T> {
  readonly #name: string
  readonly #make: () => Promise<T>
  readonly #end: (made: T) => Promise<void>
  #users = 0
  #opening: Promise<T> | undefined
  #opened: T | undefined

  constructor(name: string, make: () => Promise<T>, end: (made: T) => Promise<void>) {
    this.#name = name
    this.#make = make
    this.#end = end
  }

  async open(): Promise<void> {
    this.#users += 1
    this.#opening ??= this.#make()
    const opening = this.#opening
    try {
      this.#opened = await opening
    } catch (error) {
      this.#users -= 1
      // Whoever comes next tries again.
      if (this.#opening === opening) this.#opening = undefined
      throw error
    }
  }

  async close(): Promise<void> {
    this.#users -= 1
    if (this.#users > 0 || this.#opened === undefined) return
    const opened = this.#opened
    this.#opened = undefined
    this.#opening = undefined
    await this.#end(opened)
  }

  /** @throws POLLUX_TARGET_FAILED when it is not open. */
  get value(): T {
    if (this.#opened !== undefined) return this.#opened
    throw new PolluxError('POLLUX_TARGET_FAILED', `${this.#name} is not open.`)
  }
}
