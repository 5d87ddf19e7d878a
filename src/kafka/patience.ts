import { setTimeout as sleep } from 'node:timers/promises'
import { isPassing } from './errors.ts'

/** Calls `task` again for as long as what goes wrong passes by itself. Ends with the last error once `signal` is aborted. */
export async function patiently<Value>(
  signal: AbortSignal,
  task: () => Promise<Value>,
): Promise<Value> {
  for (let wait = 50; ; wait = Math.min(1_000, wait * 2)) {
    try {
      return await task()
    } catch (error: unknown) {
      if (!isPassing(error) || signal.aborted) throw error
      await sleep(wait, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) throw error
    }
  }
}

/** True when the promise is settled within `ms`. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const stop = new AbortController()
  const late = sleep(ms, false, { signal: stop.signal }).catch(() => false)
  const done = promise.then(
    () => true,
    () => true,
  )
  try {
    return await Promise.race([done, late])
  } finally {
    stop.abort()
  }
}
