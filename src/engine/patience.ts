import { errorText, PolluxError } from '../errors.ts'
import { nextWait, pause } from '../pause.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Waits } from './waits.ts'

/** Where patience is had. */
export interface PatienceParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly signal: AbortSignal
  readonly waits: Waits
  /** Told when what has failed works again. */
  recovered(): void
}

/**
 * Repeats what fails for reasons that pass by themselves, with growing and jittered waits, until it succeeds, fails
 * for good, or the signal ends it (then with the last error). One log line when trouble begins, one when it is over;
 * meanwhile the process is not ready.
 */
export async function withPatience<T>(
  parts: PatienceParts,
  what: string,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (!isPassing(error) || parts.signal.aborted) throw error
    parts.logger.warn({ error: errorText(error) }, `${what}: waiting until it works`)
  }
  const end = parts.waits.begin(what)
  try {
    return await repeat(parts, what, action)
  } finally {
    end()
  }
}

async function repeat<T>(
  { clock, logger, signal, recovered }: PatienceParts,
  what: string,
  action: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    await pause(clock, nextWait(clock, attempt), signal)
    try {
      const result = await action()
      logger.info({ attempts: attempt + 2 }, `${what}: works again`)
      recovered()
      return result
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error
    }
  }
}

function isPassing(error: unknown): boolean {
  return PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE')
}
