import { sqlState } from '../sql/sql-errors.ts'

const networkCodes = new Set(
  'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENETDOWN ENOTFOUND EAI_AGAIN ENOENT'.split(
    ' ',
  ),
)

// What pg says in words alone: connection cut, time-outs of connecting and of an answer, and use of a
// client that has failed before.
const lostWords =
  /^(Connection terminated|timeout e|Query read timeout|Client has encountered a connection error|Client was closed)/

/** True when there is no connection (any more), which waiting mends. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || sqlState(error) !== undefined) return false
  const { code } = error as { readonly code?: unknown }
  return networkCodes.has(String(code)) || lostWords.test(error.message)
}

/**
 * True when this connection is not to be used again: it is gone, the server has ended it, it leads to a server that only
 * reads, as after a fail-over to another one, or something went wrong in the driver itself.
 */
export function isConnectionSpent(error: unknown): boolean {
  const state = sqlState(error)
  return state === undefined || /^(08...|25006|25P0[34]|57P..)$/.test(state)
}
