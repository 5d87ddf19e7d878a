import { errorText, PolluxError } from '../../errors.ts'
import { isPassing, sqlState } from '../../sql/sql-errors.ts'

// Values that do not fit (22), constraints (23), a view's check (44), a row that is there twice, one too large for an
// index, and what triggers raise themselves.
const refusing = /^(22...|23...|44000|21000|54000|P0001)$/

/** Why a row was refused; undefined when it is not the row's fault. */
export function refusal(name: string, error: unknown): PolluxError | undefined {
  const state = sqlState(error)
  if (state === undefined || !refusing.test(state)) return undefined
  const { constraint } = error as { readonly constraint?: string }
  const because = constraint === undefined ? '' : `, constraint ${constraint}`
  return new PolluxError('POLLUX_ROW_REFUSED', `${name} cannot take this row.`, {
    found: `${errorText(error)} (SQLSTATE ${state}${because})`,
  })
}

/** Any other error. */
export function trouble(name: string, error: unknown): PolluxError {
  if (PolluxError.is(error) && error.code !== 'POLLUX_STORE_UNREACHABLE') return error
  const state = sqlState(error)
  const isLost = PolluxError.is(error) || isPassing(state)
  const found = PolluxError.is(error)
    ? error.found
    : `${errorText(error)}${state === undefined ? '' : ` (SQLSTATE ${state})`}`
  return isLost
    ? new PolluxError('POLLUX_TARGET_UNREACHABLE', `${name} cannot be reached now.`, {
        ...(found === undefined ? {} : { found }),
      })
    : new PolluxError('POLLUX_TARGET_FAILED', `${name} refused a request.`, {
        ...(found === undefined ? {} : { found }),
      })
}
