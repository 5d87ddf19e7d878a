import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Failure } from '../kafka/failure.ts'

/** What the model was asked in this run. */
export interface ModelCounts {
  readonly answered: number
  /** Answered with 429. */
  readonly busy: number
  readonly kills: number
}

const script = new URL('../../examples/bookshop/model.ts', import.meta.url).pathname
/** After so many answers it is killed. */
const answersUntilKill = 2
/** Milliseconds that it is away. */
const awayFor = 400

/** The model of the bookshop in a process of its own, which is killed once and started again. */
export class ModelProcess {
  readonly counts = { answered: 0, busy: 0, kills: 0 }
  #url = ''
  #child: ChildProcess | undefined
  #restart: NodeJS.Timeout | undefined

  /** Resolves when it listens. */
  start(): Promise<void> {
    return this.#spawn('0')
  }

  /** Empty before it has started. */
  get url(): string {
    return this.#url
  }

  close(): void {
    clearTimeout(this.#restart)
    this.#child?.kill('SIGKILL')
  }

  async #spawn(port: string): Promise<void> {
    // By the channel, it ends with this process, however that ends. In a group of its own, Ctrl-C does not reach it.
    const child = spawn(process.execPath, [script, port], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      detached: true,
    })
    this.#child = child
    await new Promise<void>((resolve, reject) => {
      child.on('exit', () => reject(new Failure('The model of the bookshop did not start.')))
      child.on('error', reject)
      createInterface(child.stdout as NodeJS.ReadableStream).on('line', (line) => {
        if (line.startsWith('http')) {
          this.#url = line
          resolve()
        } else this.#count(line)
      })
    })
  }

  #count(line: string): void {
    this.counts[line === 'busy' ? 'busy' : 'answered'] += 1
    if (this.counts.answered < answersUntilKill || this.counts.kills > 0) return
    this.counts.kills += 1
    this.#child?.kill('SIGKILL')
    // What is wrong with the second one shows as reviews that wait.
    this.#restart = setTimeout(
      () => void this.#spawn(new URL(this.#url).port).catch(() => {}),
      awayFor,
    )
  }
}
