import { type ErrorCode, errorTable, PolluxError } from '../errors.ts'
import type { Course } from './course.ts'

/** Undefined: what lies below it says more. */
const courses: Readonly<Record<ErrorCode, Course | undefined>> = {
  ...(Object.fromEntries(Object.keys(errorTable).map((code) => [code, 'stop'])) as Record<
    ErrorCode,
    Course
  >),
  POLLUX_HANDLER_FAILED: undefined,
  POLLUX_CALL_FAILED: undefined,
  POLLUX_CALL_TIMEOUT: 'retry',
  POLLUX_RETRY_LATER: 'retry',
  POLLUX_TRANSACTION_MISUSED: 'retry',
  POLLUX_HANDLER_TIMEOUT: 'retry',
  POLLUX_DURATION_INVALID: 'retry',
  POLLUX_OPTION_INVALID: 'retry',
  POLLUX_NOT_RETRYABLE: 'dead-letter',
  POLLUX_DECODE_FAILED: 'dead-letter',
  POLLUX_ENCODE_FAILED: 'dead-letter',
  POLLUX_OUTPUT_UNDECLARED: 'dead-letter',
  POLLUX_OUTPUT_REFUSED: 'dead-letter',
  POLLUX_RECORD_TOO_LARGE: 'dead-letter',
  POLLUX_STATE_UNAVAILABLE: 'dead-letter',
  POLLUX_ROW_REFUSED: 'dead-letter',
  POLLUX_OFFSET_UNSAFE: 'dead-letter',
  POLLUX_BROKER_UNREACHABLE: 'wait',
  POLLUX_STORE_UNREACHABLE: 'wait',
  POLLUX_TARGET_UNREACHABLE: 'wait',
}

/** Our own errors. */
export function ofPollux(error: object): Course | undefined {
  return PolluxError.is(error) ? courses[error.code] : undefined
}
