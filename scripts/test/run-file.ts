import { join } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'
import { root } from '../command.ts'

/** What became of one test file. */
export interface FileResult {
  /** Path below `test/`. */
  readonly file: string
  readonly passed: number
  readonly failures: readonly string[]
  /** One line for each skipped test: its title and the reason. */
  readonly skips: readonly string[]
  /** What the file printed. */
  readonly output: string
  readonly seconds: number
}

/** Runs one test file in a process of its own, and ends it after `minutes`. */
export async function runFile(file: string, minutes: number): Promise<FileResult> {
  const path = join(root, 'test', file)
  const start = performance.now()
  const limit = AbortSignal.timeout(minutes * 60_000)
  const tally = new Tally(path)
  for await (const event of run({ files: [path], cwd: root, concurrency: 1, signal: limit })) {
    tally.add(event as TestEvent)
  }
  if (limit.aborted) tally.failures.push(`The file did not end within ${minutes} minutes.`)
  else if (tally.isEmpty) tally.failures.push('The file holds no test.')
  const { passed, failures, skips, output } = tally
  return { file, passed, failures, skips, output, seconds: (performance.now() - start) / 1_000 }
}

interface TestEvent {
  readonly type: string
  readonly data: {
    readonly name: string
    readonly message: string
    readonly skip?: string | boolean
    readonly todo?: string | boolean
    readonly details: { readonly type?: string; readonly error?: Error }
  }
}

/** Counts the tests of one file; a suite counts only if it was skipped or failed by itself. */
class Tally {
  readonly #path: string
  passed = 0
  readonly failures: string[] = []
  readonly skips: string[] = []
  output = ''

  constructor(path: string) {
    this.#path = path
  }

  get isEmpty(): boolean {
    return this.passed + this.failures.length + this.skips.length === 0
  }

  add({ type, data }: TestEvent): void {
    if (type === 'test:stdout' || type === 'test:stderr') this.output += data.message
    if (type === 'test:fail') this.#addFailure(data)
    if (type === 'test:pass') this.#addPass(data)
  }

  #addPass({ name, skip, todo, details }: TestEvent['data']): void {
    // A file without tests passes as a test named like the file.
    if (name === this.#path) return
    const reason = skip ?? todo
    if (reason !== undefined && reason !== false) {
      this.skips.push(`${name}: ${reason === true || reason === '' ? 'no reason given' : reason}`)
    } else if (details.type !== 'suite') {
      this.passed += 1
    }
  }

  #addFailure({ name, details }: TestEvent['data']): void {
    const { error } = details
    // A test whose subtest failed fails too; the subtest has said it.
    if ((error as { failureType?: string } | undefined)?.failureType === 'subtestsFailed') return
    const title = name === this.#path ? 'The file itself failed' : name
    this.failures.push(`${title}\n${indented(described(error?.cause ?? error))}`)
  }
}

/** An assertion's stack holds its difference already; its properties would show it again. */
function described(error: unknown): string {
  const { code, stack } = error as { readonly code?: string; readonly stack?: string }
  return code === 'ERR_ASSERTION' && stack !== undefined ? stack : inspect(error)
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ')
}
