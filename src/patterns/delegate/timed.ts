import { durationText } from '../../duration.ts'
import { PolluxError } from '../../errors.ts'
import type { Clock } from '../../ports/clock.ts'

/**
 * Runs `action` for no longer than `limit` milliseconds, and no longer than `outer` allows. Its signal is aborted then, and an
 * action that does not obey is left behind.
 * @throws POLLUX_CALL_TIMEOUT, and what `outer` was aborted with.
 */
export async function timed<T>(
  { clock, limit, outer }: { clock: Clock; limit: number; outer: AbortSignal },
  action: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  outer.throwIfAborted()
  const { promise: cut, reject } = Promise.withResolvers<never>()
  const controller = new AbortController()
  const end = (reason: unknown): void => {
    reject(reason)
    controller.abort(reason)
  }
  const onOuter = (): void => end(outer.reason)
  outer.addEventListener('abort', onOuter)
  const cancel = clock.after(limit, () => end(tooSlow(limit)))
  try {
    return await Promise.race([action(controller.signal), cut])
  } finally {
    cancel()
    outer.removeEventListener('abort', onOuter)
  }
}

function tooSlow(limit: number): PolluxError {
  return new PolluxError(
    'POLLUX_CALL_TIMEOUT',
    `The call took longer than its time limit of ${durationText(limit)}.`,
    { hint: 'It may have had its effect all the same.' },
  )
}
