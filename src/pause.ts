import type { Clock } from './ports/clock.ts'

/** Resolves after `ms`, or at once when the signal is or becomes aborted. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      cancel()
      resolve()
    }
    const cancel = clock.after(ms, done)
    signal.addEventListener('abort', done)
  })
}

const firstWait = 100
const longestWait = 5_000

/** How long to wait after so many failed attempts: longer each time, and never the same for all who wait. */
export function nextWait(clock: Clock, attempts: number): number {
  const wait = Math.min(longestWait, firstWait * 2 ** Math.min(attempts, 10))
  return wait * (0.5 + clock.random() / 2)
}
