import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '../eventually.ts'
import { crashVariable, noteIn } from './crash-note.ts'
import type { Crash, CrashPoint } from './crash-points.ts'

/** How a process is started. */
export interface CrashProcessOptions {
  /** What its script finds in `process.argv` behind its name. */
  readonly args?: readonly string[]
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Node's own flags. */
  readonly nodeOptions?: readonly string[]
  /** What it crashes at, where it runs its services by `runToCrash`. Default: nothing. */
  readonly crash?: Crash | undefined
}

const started = new Set<ChildProcess>()
// A test that fails leaves no process behind.
process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL')
})

/** A process of a test, which shall crash, or be killed or frozen from outside. */
export class CrashProcess {
  /** What it wrote to standard output, notes of `runToCrash` excepted. */
  readonly lines: string[] = []
  /** It obeys signals. */
  hasStarted = false
  /** It has fetched its first records. */
  isWorking = false
  /** Where it has crashed. */
  crashedAt: CrashPoint | undefined
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown>
  #errors = ''

  /** @param script a file that Node can run. */
  constructor(script: URL | string, options: CrashProcessOptions = {}) {
    const { args = [], env = {}, nodeOptions = [], crash } = options
    const file = script instanceof URL ? fileURLToPath(script) : script
    const child = spawn(process.execPath, [...nodeOptions, file, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        // Starting takes half the time when what was compiled is kept.
        NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
        ...process.env,
        ...env,
        [crashVariable]: JSON.stringify({ crash }),
      },
    })
    started.add(child)
    this.#process = child
    this.#ended = once(child, 'close').then(() => started.delete(child))
    let rest = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop() ?? ''
      for (const line of parts) this.#take(line)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-20_000)
    })
  }

  #take(line: string): void {
    const note = noteIn(line)
    if (note === undefined) this.lines.push(line)
    else if (note.state === 'started') this.hasStarted = true
    else if (note.state === 'working') this.isWorking = true
    else this.crashedAt = note.point
  }

  /** The end of what it wrote to standard error. */
  get errors(): string {
    return this.#errors
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  /** Null while it runs, and when a signal killed it. */
  get exitCode(): number | null {
    return this.#process.exitCode
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  /** Waits for a line. `deadline` in milliseconds. */
  async says(line: string | RegExp, deadline = 60_000): Promise<string> {
    const isIt = (one: string): boolean =>
      typeof line === 'string' ? one === line : line.test(one)
    return await this.#told(`the line ${line}`, () => this.lines.find(isIt), deadline)
  }

  /** Waits until it obeys signals: before, SIGTERM would end it as any other program. */
  async starts(deadline = 60_000): Promise<void> {
    await this.#told('its start', () => this.hasStarted || this.hasEnded, deadline)
  }

  /** Waits until it has crashed at its point. */
  async crashes(deadline = 60_000): Promise<CrashPoint> {
    return await this.#told('its crash', () => this.crashedAt, deadline)
  }

  /** Its exit code; null when a signal killed it. Rejects after the deadline, having killed it. */
  async ended(deadline = 60_000): Promise<number | null> {
    try {
      await this.#told('its end', () => this.hasEnded, deadline)
    } finally {
      this.#process.kill('SIGKILL')
      await this.#ended
    }
    return this.exitCode
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
