/**
 * Every error Pollux throws, as one table. The code, never the text, is what programs may depend on.
 * `docs/errors.md` lists the same codes; a test compares the two both ways.
 */
export const errorTable = {
  POLLUX_OPTION_INVALID: 'One or more options are wrong. The message lists every problem found.',
  POLLUX_DURATION_INVALID: 'A duration is neither milliseconds nor a text such as "30s".',
  POLLUX_DECODE_FAILED: 'A record’s key or value is not what the topic’s codec expects.',
  POLLUX_ENCODE_FAILED: 'An output’s key or value cannot be encoded by the topic’s codec.',
  POLLUX_OUTPUT_UNDECLARED:
    'A handler returned something that is not a message of a declared output topic.',
  POLLUX_OUTPUT_REFUSED: 'The broker cannot take an output, for example because it is too large.',
  POLLUX_RECORD_TOO_LARGE: 'A record is larger than the broker takes.',
  POLLUX_HANDLER_FAILED: 'A handler threw.',
  POLLUX_HANDLER_TIMEOUT: 'A handler took longer for one try than `retry.timeLimit` allows.',
  POLLUX_NOT_RETRYABLE: 'A message can never be handled, so trying again would not help.',
  POLLUX_RETRY_LATER: 'A message cannot be handled now.',
  POLLUX_CALL_FAILED: 'A service that a handler called answered with an error.',
  POLLUX_CALL_TIMEOUT: 'A service that a handler called did not answer within the time limit.',
  POLLUX_STATE_UNAVAILABLE:
    'A handler used state where there is none: outside its attempt, or for a message without a key.',
  POLLUX_TRANSACTION_MISUSED:
    'A handler used its transaction after its attempt, left a query unfinished, or tried to end it.',
  POLLUX_TOPIC_UNKNOWN: 'A topic that a service reads or writes does not exist on the broker.',
  POLLUX_BROKER_UNREACHABLE: 'The broker did not answer in time.',
  POLLUX_BROKER_REFUSED:
    'The broker refused the request: not authorised, fenced, or not supported.',
  POLLUX_BROKER_CLOSED:
    'The broker connection, group member or reader was used after it had been closed.',
  POLLUX_OFFSET_UNSAFE: 'A record’s offset is above 2^53 - 1 and would be rounded.',
  POLLUX_OFFSET_RESET: 'A stored position lies outside the log, and the policy is to stop.',
  POLLUX_OUTSIDE_RESET:
    'The group’s offset was set by something else than the service, and the policy is to stop.',
  POLLUX_LEDGER_MISSING: 'The group has worked with a ledger that the store does not have.',
  POLLUX_STORE_FAILED: 'The store refused a request in a way that waiting cannot fix.',
  POLLUX_STORE_UNREACHABLE: 'The store did not answer; the work waits and is repeated.',
  POLLUX_TARGET_MISMATCH: 'What a sidecar is to write does not fit what its target has.',
  POLLUX_TARGET_UNREACHABLE:
    'The target of a sidecar did not answer; the batch waits and is repeated.',
  POLLUX_TARGET_FAILED:
    'The target of a sidecar refused a request in a way that waiting cannot fix.',
  POLLUX_ROW_REFUSED: 'The target of a sidecar cannot take the row of one message.',
  POLLUX_MIGRATION_NEEDED: 'The tables of the store are not those that this version needs.',
  POLLUX_TABLE_INVALID: 'The table of a pattern cannot be made, or has not the columns it needs.',
  POLLUX_FOLDER_LOCKED: 'Another process uses this folder.',
  POLLUX_FOLDER_INVALID: 'A folder holds data that this version of Pollux cannot read.',
  POLLUX_DRIVER_MISSING:
    'An optional driver package is not installed, or its native part is not ready.',
  POLLUX_SETTING_REFUSED: 'A Kafka client setting would break a guarantee.',
  POLLUX_STOP_TIMEOUT: 'Stopping took longer than the hard deadline.',
  POLLUX_MODULE_INVALID: 'A module given to the command line cannot be loaded or holds no service.',
  POLLUX_FILE_INVALID: 'An input file cannot be read as what its name says.',
} as const

/** A stable error code; see `docs/errors.md`. */
export type ErrorCode = keyof typeof errorTable

/** What an error message is made of. `found` must never hold a secret. */
export interface ErrorDetails {
  /** What would have been right. */
  readonly expected?: string
  /** What was there instead. */
  readonly found?: string
  /** What the reader can do now. */
  readonly hint?: string
  readonly cause?: unknown
}

const brand = Symbol.for('pollux.error')

/** The one error class of Pollux. Tell errors apart by `code`. */
export class PolluxError extends Error {
  readonly code: ErrorCode
  // Declared only: what is undefined would be shown as `expected: undefined` by Node.
  declare readonly expected: string | undefined
  declare readonly found: string | undefined
  declare readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(sentence(message, details), 'cause' in details ? { cause: details.cause } : {})
    this.name = 'PolluxError'
    this.code = code
    if (details.expected !== undefined) this.expected = details.expected
    if (details.found !== undefined) this.found = details.found
    if (details.hint !== undefined) this.hint = details.hint
    Object.defineProperty(this, brand, { value: true })
  }

  /** True also for errors of another copy of this package. */
  static is(error: unknown, code?: ErrorCode): error is PolluxError {
    return (
      typeof error === 'object' &&
      error !== null &&
      brand in error &&
      (code === undefined || (error as Partial<PolluxError>).code === code)
    )
  }
}

function sentence(message: string, { expected, found, hint }: ErrorDetails): string {
  const parts = [message]
  if (expected !== undefined) parts.push(`Expected ${expected}.`)
  if (found !== undefined) parts.push(`Found ${found}.`)
  if (hint !== undefined) parts.push(hint)
  return parts.join(' ')
}

/** The text of anything thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A value as an error message shows it: short, with its type, without its content when it is large. */
export function shown(value: unknown): string {
  if (typeof value === 'string')
    return value.length > 60 ? `a text of ${value.length} characters` : `'${value}'`
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'number' || typeof value === 'boolean') return `${value} (${typeof value})`
  if (typeof value === 'bigint') return `${value}n (bigint)`
  if (Array.isArray(value)) return `an array of ${value.length}`
  return `a value of type ${typeof value}`
}
