import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../src/testing/eventually.ts'

/** A process of a test that prints lines. */
export class Child {
  readonly lines: string[] = []
  readonly #process: ChildProcessWithoutNullStreams
  readonly #ended: Promise<unknown>
  #rest = ''
  #errors = ''

  private constructor(process: ChildProcessWithoutNullStreams) {
    this.#process = process
    this.#ended = once(process, 'close')
    process.stdout.setEncoding('utf8').on('data', (text: string) => {
      const parts = (this.#rest + text).split('\n')
      this.#rest = parts.pop() ?? ''
      this.lines.push(...parts)
    })
    process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
    process.stdin.on('error', () => {})
  }

  /** Starts a file of `fixtures/`. */
  static start(fixture: string, ...args: readonly string[]): Child {
    const file = fileURLToPath(new URL(`fixtures/${fixture}`, import.meta.url))
    return new Child(spawn(process.execPath, [file, ...args]))
  }

  get pid(): number {
    return this.#process.pid ?? -1
  }

  /** What it wrote to standard error. */
  get errors(): string {
    return this.#errors
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  tell(command: object): void {
    this.#process.stdin.write(`${JSON.stringify(command)}\n`)
  }

  /** Kills it, if it lives, and waits until it has ended. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  async ended(): Promise<void> {
    await this.#ended
  }

  async until(what: string, look: () => boolean, deadline = 20_000): Promise<void> {
    await eventually(what, () => look(), { deadline }).catch((error: unknown) => {
      throw new Error(`${what}; standard error: ${this.#errors}`, { cause: error })
    })
  }
}
