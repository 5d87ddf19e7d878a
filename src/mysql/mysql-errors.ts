import { errorText, PolluxError } from '../errors.ts'

interface DriverError {
  readonly code?: unknown
  readonly errno?: unknown
  readonly sqlState?: unknown
  readonly fatal?: unknown
}

function partsOf(error: unknown): DriverError {
  return error instanceof Error ? (error as DriverError) : {}
}

// Values that do not fit (22), constraints (23), a view's check (44), what triggers raise themselves (45).
const refusingState = /^(22|23|44|45)/

// Those of the row's fault that the server puts under HY000 or 01000: no value for a column that has no default, a value that is
// cut or wrong for its column, a check, a key that is too long.
const refusingNumbers = new Set([1265, 1364, 1366, 1071, 1690, 3140, 3819, 4025])

/** Why a row was refused; undefined when it is not the row's fault. */
export function refusal(name: string, error: unknown): PolluxError | undefined {
  const { errno, sqlState } = partsOf(error)
  if (typeof sqlState !== 'string') return undefined
  if (!refusingState.test(sqlState) && !refusingNumbers.has(Number(errno))) return undefined
  return new PolluxError('POLLUX_ROW_REFUSED', `${name} cannot take this row.`, {
    found: `${errorText(error)} (SQLSTATE ${sqlState}, error ${String(errno)})`,
  })
}

// Deadlock and lock wait, too many connections, shutting down, killed, out of time, only reading as after a fail-over, disk full.
const passingNumbers = new Set([
  1021, 1040, 1053, 1114, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1226, 1290, 1317, 1836, 1927,
  1969, 2006, 2013, 3024,
])

/** Any other error. */
export function trouble(name: string, error: unknown): PolluxError {
  if (PolluxError.is(error)) return error
  const { errno, sqlState, fatal, code } = partsOf(error)
  const found =
    typeof sqlState === 'string' ? `${errorText(error)} (error ${String(errno)})` : told(error)
  return isLost({ errno, sqlState, fatal, code })
    ? new PolluxError('POLLUX_TARGET_UNREACHABLE', `${name} cannot be reached now.`, { found })
    : new PolluxError('POLLUX_TARGET_FAILED', `${name} refused a request.`, { found })
}

/** The driver says nothing but a code where there was no connection. */
function told(error: unknown): string {
  return errorText(error) || String(partsOf(error).code)
}

// Refused at once for good: a wrong password, a database that is not there.
const refusedForGood = new Set([1044, 1045, 1049, 1251])

function isLost({ errno, sqlState, fatal, code }: DriverError): boolean {
  if (passingNumbers.has(Number(errno))) return true
  if (typeof sqlState === 'string' && sqlState.startsWith('08')) return true
  if (refusedForGood.has(Number(errno))) return false
  return (
    fatal === true ||
    (typeof code === 'string' && /^(E[A-Z]+|PROTOCOL_\w+)$/.test(code) && !code.startsWith('ER_'))
  )
}
