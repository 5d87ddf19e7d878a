import { causesOf } from '../../causes.ts'
import { PolluxError } from '../../errors.ts'
import type { RetryableError } from '../../handler-errors.ts'

/**
 * What a failed call says of another try: `permanent` never works; `transient` may work by itself; `overload` will work
 * once there is less to do, so it is nobody's fault and is never the reason for giving a message up.
 */
export type FailureKind = 'permanent' | 'transient' | 'overload'

/** A failed call, understood. */
export interface Failure {
  readonly kind: FailureKind
  /** The called service asks for so many milliseconds of peace. */
  readonly after?: number
}

const kindsByHttpStatus: Readonly<Record<number, FailureKind>> = {
  // Our credentials are refused, not this message: all others would be as well.
  401: 'transient',
  407: 'transient',
  408: 'transient',
  425: 'transient',
  429: 'overload',
  501: 'permanent',
  505: 'permanent',
}

/** By the numbers of gRPC's status codes. */
const kindsByGrpcCode: readonly FailureKind[] = [
  'transient', // 0 OK: no failure, so nothing is known
  'transient', // 1 CANCELLED
  'transient', // 2 UNKNOWN
  'permanent', // 3 INVALID_ARGUMENT
  'transient', // 4 DEADLINE_EXCEEDED
  'permanent', // 5 NOT_FOUND
  'permanent', // 6 ALREADY_EXISTS
  'permanent', // 7 PERMISSION_DENIED
  'overload', // 8 RESOURCE_EXHAUSTED
  'permanent', // 9 FAILED_PRECONDITION
  'transient', // 10 ABORTED
  'permanent', // 11 OUT_OF_RANGE
  'permanent', // 12 UNIMPLEMENTED
  'transient', // 13 INTERNAL
  'transient', // 14 UNAVAILABLE
  'permanent', // 15 DATA_LOSS
  'transient', // 16 UNAUTHENTICATED
]

/** By the class of an SQLSTATE: data exceptions and violated constraints are the message's fault. */
const kindsBySqlClass: Readonly<Record<string, FailureKind>> = {
  '22': 'permanent',
  '23': 'permanent',
  '53': 'overload',
}

/**
 * Understands errors that carry an HTTP status, a code of gRPC, an SQLSTATE, or a network error's code, also in their
 * `cause`. What says nothing is transient.
 */
export function classify(error: unknown): Failure {
  for (const one of causesOf(error)) {
    const failure = classifyOne(one)
    if (failure !== undefined) return failure
  }
  return { kind: 'transient' }
}

function classifyOne(error: object): Failure | undefined {
  if (PolluxError.is(error)) {
    if (error.code === 'POLLUX_RETRY_LATER')
      return withAfter('transient', (error as RetryableError).after)
    if (refusing.includes(error.code)) return { kind: 'permanent' }
  }
  const { status, statusCode, response, code, after } = error as Record<string, unknown>
  const http = [status, statusCode, (response as { status?: unknown } | undefined)?.status].find(
    (one) => typeof one === 'number' && one >= 300 && one < 600,
  )
  const asked = typeof after === 'number' ? after : undefined
  if (http !== undefined) return ofHttpStatus(http as number, asked)
  // DOMException has numbers of its own, which mean something else.
  if (typeof code === 'number' && code in kindsByGrpcCode && !(error instanceof DOMException))
    return withAfter(kindsByGrpcCode[code] ?? 'transient', asked)
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code))
    return { kind: kindsBySqlClass[code.slice(0, 2)] ?? 'transient' }
  return undefined
}

const refusing: readonly string[] = [
  'POLLUX_NOT_RETRYABLE',
  'POLLUX_DECODE_FAILED',
  'POLLUX_ENCODE_FAILED',
]

/** A service that says when to come back is there and has too much to do. */
function ofHttpStatus(status: number, after: number | undefined): Failure {
  const kind = kindsByHttpStatus[status] ?? (status >= 500 ? 'transient' : 'permanent')
  return withAfter(status === 503 && after !== undefined ? 'overload' : kind, after)
}

function withAfter(kind: FailureKind, after: number | undefined): Failure {
  return after === undefined ? { kind } : { kind, after }
}
