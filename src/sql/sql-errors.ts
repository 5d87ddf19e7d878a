import { errorText, PolluxError } from '../errors.ts'

interface DatabaseError {
  readonly code?: unknown
  readonly severity?: unknown
}

/** The SQLSTATE of a database error; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  const { code, severity } = error instanceof Error ? (error as DatabaseError) : {}
  // Only the database tells a severity; EPIPE is five letters too.
  const isFromDatabase = typeof code === 'string' && typeof severity === 'string'
  return isFromDatabase && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

// What passes by itself: connection lost (08), serialization and deadlock (40001, 40P01), out of
// disk, memory or connections (53), lock timeout (55P03), cancelled, shut down, starting up (57014,
// 57P01 to 57P05), a server that only reads (25006), as after a fail-over, a session that was ended since its
// transaction took too long (25P03, 25P04), as after a process was paused, I/O error (58030).
const passing = /^(08...|25006|25P0[34]|40001|40P01|53...|55P03|57014|57P0[1-5]|58030)$/

/** Whether waiting helps against an error of this SQLSTATE. */
export function isPassing(state: string | undefined): boolean {
  return state !== undefined && passing.test(state)
}

/**
 * The error for callers. The driver's own error is not its cause: drivers hang the statement's
 * parameters on it, and those are the users' states.
 */
export function storeError(store: string, error: unknown): PolluxError {
  if (PolluxError.is(error)) return error
  const state = sqlState(error)
  const found = state === undefined ? errorText(error) : `${errorText(error)} (SQLSTATE ${state})`
  return isPassing(state)
    ? new PolluxError('POLLUX_STORE_UNREACHABLE', `The store ${store} cannot answer now.`, {
        found,
      })
    : new PolluxError('POLLUX_STORE_FAILED', `The store ${store} refused a request.`, { found })
}
