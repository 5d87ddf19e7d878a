import { errorText, PolluxError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'

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

/**
 * Repeats what fails for reasons that pass by themselves, with growing and jittered waits, until it succeeds, fails
 * for good, or the signal ends it (then with the last error). One log line when trouble begins, one when it is over.
 */
export async function withPatience<T>(
  {
    clock,
    logger,
    signal,
  }: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
  what: string,
  action: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const result = await action()
      if (attempt > 0) logger.info({ attempts: attempt + 1 }, `${what}: works again`)
      return result
    } catch (error) {
      if (!PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE') || signal.aborted) throw error
      if (attempt === 0) logger.warn({ error: errorText(error) }, `${what}: waiting until it works`)
      const wait = Math.min(longestWait, firstWait * 2 ** Math.min(attempt, 10))
      await pause(clock, wait * (0.5 + clock.random() / 2), signal)
    }
  }
}
