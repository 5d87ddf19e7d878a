import { type ExitCode, exitCodes } from '../exit-codes.ts'

/** How a worker process ended. */
export interface WorkerEnd {
  readonly code: number | null
  readonly signal: string | null
  /** Whether it had begun to work. */
  readonly wasReady: boolean
}

/**
 * What follows from a worker's end that nobody asked for. `restart`: it crashed. `stop-all`: the reason holds for every
 * worker alike, so the others stop too. `let-be`: somebody stopped this one worker.
 */
export function judgeWorkerEnd({ code, wasReady }: WorkerEnd): 'restart' | 'stop-all' | 'let-be' {
  switch (code as ExitCode | null) {
    case exitCodes.failed:
    case exitCodes.usage:
      return 'stop-all'
    case exitCodes.unreachable:
      // At the start this is what one process alone would end with; later it is an outage that passes.
      return wasReady ? 'restart' : 'stop-all'
    case exitCodes.ok:
    case exitCodes.aborted:
    case exitCodes.deadline:
      return 'let-be'
    default:
      return 'restart'
  }
}

/** The exit code that a worker's end counts as. */
export function codeOfEnd({ code, signal, wasReady }: WorkerEnd): number {
  if (code !== null) return code
  // Ended by a signal before it listened to signals: it had begun nothing.
  return !wasReady && (signal === 'SIGTERM' || signal === 'SIGINT')
    ? exitCodes.ok
    : exitCodes.crashed
}

const firstDelay = 500
const longestDelay = 30_000

/** How long a worker must live for its earlier crashes to be forgotten, in milliseconds. */
export const healthyAfter = 60_000

/** Milliseconds until the restart after so many crashes in a row (from 1): doubling, with jitter so that workers spread. */
export function restartDelay(crashes: number, random: number): number {
  const full = Math.min(longestDelay, firstDelay * 2 ** Math.min(crashes - 1, 30))
  return Math.round(full * (0.5 + random / 2))
}
