import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../src/testing/index.ts'

const started = new Set<ChildProcess>()
// A test that fails leaves no process behind.
process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL')
})

/** A process of a test: one of the scripts beside the tests, which prints lines. */
export class Child {
  readonly lines: string[] = []
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown>
  #errors = ''

  /** `script` is below `test/`; `settings` reach it as JSON in its first argument. */
  constructor(script: string, settings: object, nodeOptions: readonly string[] = []) {
    const file = fileURLToPath(new URL(`../${script}`, import.meta.url))
    const child = spawn(process.execPath, [...nodeOptions, file, JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    started.add(child)
    this.#process = child
    this.#ended = once(child, 'close').then(() => started.delete(child))
    let rest = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop() ?? ''
      this.lines.push(...parts)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-20_000)
    })
  }

  /** The end of what it wrote to standard error. */
  get errors(): string {
    return this.#errors
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  /** Waits for a line. */
  async says(line: string | RegExp, deadline = 60_000): Promise<string> {
    const isIt = (one: string): boolean =>
      typeof line === 'string' ? one === line : line.test(one)
    return await this.#told(`the line ${line}`, () => this.lines.find(isIt), deadline)
  }

  /** Its exit code; null when a signal killed it. Rejects after the deadline, having killed it. */
  async ended(deadline = 60_000): Promise<number | null> {
    try {
      await this.#told('its end', () => this.hasEnded, deadline)
    } finally {
      this.#process.kill('SIGKILL')
      await this.#ended
    }
    return this.#process.exitCode
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  async #told<T>(
    what: string,
    look: () => T,
    deadline: number,
  ): Promise<NonNullable<Exclude<T, false>>> {
    return await eventually(what, look, { deadline }).catch((cause: unknown) => {
      throw new Error(
        `${what} did not come. It said:\n${this.lines.slice(-20).join('\n')}\n${this.#errors}`,
        { cause },
      )
    })
  }
}
