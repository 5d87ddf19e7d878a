import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, within } from '../../src/testing/eventually.ts'

const main = new URL('../../src/cli/main.ts', import.meta.url).pathname
const index = new URL('../../src/index.ts', import.meta.url).href

/** How a command ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: Buffer
  readonly stderr: string
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>
  /** A process group of its own, as a shell gives each job. */
  readonly detached?: boolean
  /** A file that takes stdout. */
  readonly stdout?: number
}

/** A temporary folder in which `pollux` is run. */
export class Workplace implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'pollux-cli-'))
  readonly #started: CliProcess[] = []

  write(name: string, content: string | Buffer): string {
    writeFileSync(join(this.folder, name), content)
    return name
  }

  has(name: string): boolean {
    return existsSync(join(this.folder, name))
  }

  start(args: readonly string[], options: StartOptions = {}): CliProcess {
    const started = new CliProcess(this.folder, args, options)
    this.#started.push(started)
    return started
  }

  /** What was printed by a command that has to succeed. */
  async output(args: readonly string[], input = ''): Promise<string> {
    const { code, stdout, stderr } = await this.pollux(args, input)
    if (code !== 0) throw new Error(`pollux ${args.join(' ')} ended with ${code}: ${stderr}`)
    return String(stdout)
  }

  /** Runs a command to its end, `input` on its stdin. */
  async pollux(
    args: readonly string[],
    input: string | Buffer = '',
    options: StartOptions = {},
  ): Promise<Ended> {
    const started = this.start(args, options)
    started.child.stdin?.end(input)
    return started.ended()
  }

  /** Runs a command whose stdout is Linux's device that is always full. */
  async intoFullDisk(args: readonly string[]): Promise<Ended> {
    const full = openSync('/dev/full', 'w')
    try {
      return await this.start(args, { stdout: full }).ended()
    } finally {
      closeSync(full)
    }
  }

  /** Records of a topic, parsed, in the order of partition and offset. */
  async records(topic: string, ...args: string[]): Promise<Record<string, unknown>[]> {
    const { code, stdout, stderr } = await this.pollux(['consume', topic, ...args])
    if (code !== 0) throw new Error(`consume ended with ${code}: ${stderr}`)
    return String(stdout)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  [Symbol.dispose](): void {
    for (const { child } of this.#started) child.kill('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

/** A running command. */
export class CliProcess {
  readonly child: ChildProcess
  readonly #end: Promise<{ readonly code: number | null; readonly signal: string | null }>
  readonly #stdout: Buffer[] = []
  #stderr = ''

  constructor(
    folder: string,
    args: readonly string[],
    { env = {}, detached = false, stdout = undefined }: StartOptions,
  ) {
    this.child = spawn(process.execPath, [main, ...args], {
      cwd: folder,
      detached,
      stdio: ['pipe', stdout ?? 'pipe', 'pipe'],
      env: { ...withoutPollux(process.env), NO_COLOR: '1', ...env },
    })
    this.child.stdout?.on('data', (chunk: Buffer) => this.#stdout.push(chunk))
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += String(chunk)
    })
    // A command that refused to start reads nothing: writing to it fails.
    this.child.stdin?.on('error', () => {})
    this.#end = new Promise((resolve) => {
      this.child.on('close', (code, signal) => resolve({ code, signal }))
    })
  }

  get stdout(): string {
    return String(Buffer.concat(this.#stdout))
  }

  get stderr(): string {
    return this.#stderr
  }

  /** Waits until stderr shows something so many times. */
  async says(pattern: RegExp, times = 1): Promise<void> {
    await this.#watch(
      `stderr shows ${pattern}`,
      () => [...this.#stderr.matchAll(new RegExp(pattern, 'g'))].length >= times,
    )
  }

  async prints(text: string): Promise<void> {
    await this.#watch(`stdout shows ${text}`, () => this.stdout.includes(text))
  }

  async #watch(what: string, look: () => boolean): Promise<void> {
    try {
      await eventually(what, look)
    } catch (cause) {
      throw new Error(
        `${what}: not within the deadline\nstdout: ${this.stdout}\nstderr: ${this.#stderr}`,
        { cause },
      )
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  async ended(deadline = 60_000): Promise<Ended> {
    const end = await within(`the command ends; so far: ${this.#stderr}`, this.#end, deadline)
    return { ...end, stdout: Buffer.concat(this.#stdout), stderr: this.#stderr }
  }
}

function withoutPollux(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => !name.startsWith('POLLUX_') && name !== 'NODE_TEST_CONTEXT',
    ),
  )
}

/**
 * A module with the service `copying` from the topic `in` to the topic `out`; `handler` is the body of its handler,
 * which has `message`, `context` and `copy`.
 */
export function copyingModule(
  handler = 'return copy',
  { before = '', state = false, from = 'in', to = 'out', name = 'copying' } = {},
): string {
  return `
import { bytes, defineService, nullable, topic } from '${index}'
import { appendFileSync } from 'node:fs'
${before}
const input = topic('${from}', { value: bytes })
const output = topic('${to}', { value: bytes })
export const copying = defineService('${name}', {
  inputs: [input],
  outputs: [output],
  concurrency: 4,
  deadLetter: false,
  retry: { attempts: 1 },
  ${state ? 'state: bytes,' : ''}
  async handle(message, context) {
    const copy = output.message({ key: message.key, value: message.value })
    ${handler}
  },
})
`
}

/** `count` lines of NDJSON. */
export function lines(count: number): string {
  return Array.from({ length: count }, (_, index) => `{"n":${index}}\n`).join('')
}
