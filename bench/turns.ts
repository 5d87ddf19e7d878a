import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Lets contestants take turns, so that a machine that slows down does so for all. The first of `rounds + 1` rounds warms
 * the caches up and is thrown away.
 */
export async function takeTurns<Name extends string, Result>(
  names: readonly Name[],
  rounds: number,
  measure: (name: Name) => Promise<Result>,
): Promise<ReadonlyMap<Name, readonly Result[]>> {
  const results = new Map<Name, Result[]>(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      const result = await measure(name)
      if (round > 0) results.get(name)?.push(result)
    }
  }
  return results
}

/** A contestant at work in a process of its own. */
export interface RunningContestant<Result> {
  /** What it writes before it ends; rejects when it fails. */
  readonly result: Promise<Result>
  /** Asks it to end. */
  stop(): void
}

const running = new Set<ChildProcess>()
let isInterrupted = false

/** A signal ends the contestants, so that the benchmark fails and removes what it has made. A second one ends it at once. */
export function obeySignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isInterrupted = true
      for (const child of running) child.kill()
    })
  }
}

/** Starts a contestant and tells it its task. */
export function startContestant<Result>(script: URL, task: object): RunningContestant<Result> {
  if (isInterrupted) throw new Error('interrupted')
  const child = spawn(process.execPath, [script.pathname, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 120_000,
    // kafkajs sets negative timers, and Node says so each time.
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  })
  running.add(child)
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const result = new Promise<Result>((resolve, reject) => {
    child.on('close', (code) => {
      running.delete(child)
      if (code === 0 && output !== '') resolve(JSON.parse(output) as Result)
      else reject(new Error(`${script.pathname} ended with ${code}: ${output}`))
    })
  })
  return { result, stop: () => void child.kill() }
}

/** Runs a contestant to its end. */
export async function runContestant<Result>(script: URL, task: object): Promise<Result> {
  return await startContestant<Result>(script, task).result
}

/** What this process, a contestant, is told. */
export function readTask<Task>(): Task {
  return JSON.parse(process.argv[2] ?? '') as Task
}

export function tellResult(result: object): void {
  console.log(JSON.stringify(result))
}
