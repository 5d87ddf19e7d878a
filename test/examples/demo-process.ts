import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../scripts/command.ts'
import { eventually, within } from '../../src/testing/eventually.ts'

/** How a run of the demo ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  /** Standard output and standard error in one. */
  readonly output: string
}

/** A step that the demo shows the progress of. */
export type Step = 'Writing events' | 'Handling events'

/** A run of `scripts/demo.ts`. */
export class DemoProcess {
  readonly child: ChildProcess
  readonly #end: Promise<{ readonly code: number | null; readonly signal: string | null }>
  #output = ''

  constructor(args: readonly string[]) {
    const { NODE_TEST_CONTEXT: _, KAFKA_BROKERS: __, ...env } = process.env
    this.child = spawn(process.execPath, ['scripts/demo.ts', ...args], {
      cwd: root,
      env: { ...env, NO_COLOR: '1' },
    })
    const collect = (chunk: Buffer): void => void (this.#output += chunk.toString())
    this.child.stdout?.on('data', collect)
    this.child.stderr?.on('data', collect)
    this.#end = new Promise((resolve) => {
      this.child.on('close', (code, signal) => resolve({ code, signal }))
    })
  }

  get output(): string {
    return this.#output
  }

  /** Waits until the demo has written this. */
  async says(text: string): Promise<void> {
    const isSaid = () => this.#output.includes(text)
    await eventually(`'${text}'; so far: ${this.#output}`, isSaid, { deadline: 90_000, every: 1 })
  }

  /** Waits until the demo says that so many events are written or handled, or more. */
  async reaches(step: Step, count: number): Promise<void> {
    await eventually(
      `${step}: ${count}; so far: ${this.#output}`,
      () => this.#counts(step).some((shown) => shown >= count),
      { deadline: 90_000, every: 1 },
    )
  }

  async ended(): Promise<Ended> {
    const end = await within(`the demo ends`, this.#end, 120_000).catch((cause: unknown) => {
      this.child.kill('SIGKILL')
      throw new Error(`The demo did not end: ${this.#output}`, { cause })
    })
    return { ...end, output: this.#output }
  }

  #counts(step: Step): readonly number[] {
    const lines = this.#output.matchAll(new RegExp(`^${step}: ([\\d,]+) of`, 'gm'))
    return [...lines].map(([, count = '']) => Number(count.replaceAll(',', '')))
  }
}

/** Runs the demo to its end. */
export function runDemo(...args: readonly string[]): Promise<Ended> {
  return new DemoProcess(args).ended()
}

/** Starts the demo, and kills it with `kill -9` when it has come so far. */
export async function killDemo(args: readonly string[], step: Step, count: number): Promise<Ended> {
  const demo = new DemoProcess(args)
  try {
    await demo.reaches(step, count)
  } finally {
    demo.child.kill('SIGKILL')
  }
  return demo.ended()
}

/** Leaves databases in the demo's folder that cannot be used. */
export async function leaveRemains(folder: string): Promise<void> {
  await mkdir(join(folder, 'store/pglite'), { recursive: true })
  await mkdir(join(folder, 'shop'))
  await writeFile(join(folder, 'shop/complete'), '')
}

/** A whole number from `least` to `most`. */
export function randomBetween(least: number, most: number): number {
  return least + Math.floor(Math.random() * (most - least + 1))
}
