import { once } from 'node:events'
import { PolluxError } from '../errors.ts'

/**
 * What a command writes to stdout. When the reader goes away (`pollux consume orders | head`), `gone` is aborted and
 * writing does nothing any more: that is no error.
 */
export class Output {
  readonly #stream: NodeJS.WriteStream
  readonly #gone = new AbortController()
  #failure: Error | undefined

  constructor(stream: NodeJS.WriteStream = process.stdout) {
    this.#stream = stream
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') this.#failure = error
      this.#gone.abort()
    })
  }

  /** Aborted when nothing can be written any more. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /**
   * Resolves when more may be written, so that a slow reader holds the writer up instead of filling the memory.
   * @throws POLLUX_FILE_INVALID when writing fails for another reason than a reader that left: a full disk.
   */
  async write(chunk: string | Uint8Array): Promise<void> {
    if (!this.#gone.signal.aborted && !this.#stream.write(chunk)) await this.#drained()
    this.#check()
  }

  #check(): void {
    if (this.#failure === undefined) return
    throw new PolluxError('POLLUX_FILE_INVALID', 'The output cannot be written.', {
      found: this.#failure.message,
      cause: this.#failure,
    })
  }

  async #drained(): Promise<void> {
    try {
      await once(this.#stream, 'drain', { signal: this.#gone.signal })
    } catch {
      // Gone while waiting: `write` looks at the reason.
    }
  }

  /**
   * Resolves when everything was handed to the system, or the reader is gone.
   * @throws POLLUX_FILE_INVALID as `write` does, for what was written last.
   */
  async flush(): Promise<void> {
    if (!this.#gone.signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.gone.addEventListener('abort', () => resolve())
      this.#stream.write('', () => resolve())
      await promise
    }
    this.#check()
  }
}
