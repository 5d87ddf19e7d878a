import { errorText } from '../../errors.ts'
import { pause } from '../../pause.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import type { RateLimiter } from '../../ports/rate-limiter.ts'

// How long a limiter that cannot be asked is left alone.
const patience = 1_000

/** Waits for the turn that a rate limiter gives, or until `stopping`. A limiter that fails is asked again: no call without one. */
export async function awaitTurn(
  limiter: RateLimiter | undefined,
  { clock, log, stopping }: { clock: Clock; log: Logger; stopping: AbortSignal },
): Promise<void> {
  if (limiter === undefined) return
  while (!stopping.aborted) {
    try {
      const wait = await unlessAborted(limiter.reserve(clock), stopping)
      if (wait > 0) await pause(clock, wait, stopping)
      return
    } catch (error) {
      log.warn({ error: errorText(error) }, 'the rate limit cannot be asked, waiting until it can')
      await pause(clock, patience * (1 + clock.random()), stopping)
    }
  }
}

/** What it resolves to, or 0 when the signal comes first: a store that is away may not answer for long. */
async function unlessAborted(turn: number | Promise<number>, signal: AbortSignal): Promise<number> {
  const { promise: aborted, resolve } = Promise.withResolvers<number>()
  const end = (): void => resolve(0)
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([turn, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
