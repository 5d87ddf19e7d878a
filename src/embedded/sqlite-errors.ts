import { errorText, PolluxError } from '../errors.ts'

const busy = 5
const locked = 6
const corrupt = 11
const full = 13
const cannotOpen = 14
const notADatabase = 26

/** True when another process holds the file at this moment. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === busy || code === locked
}

/** What a fault of the file means to the caller. */
export function toPolluxError(error: unknown, file: string): PolluxError {
  if (PolluxError.is(error)) return error
  if (hasCode(error) && error.code === 'ERR_OUT_OF_RANGE') {
    return new PolluxError(
      'POLLUX_OFFSET_UNSAFE',
      `${file} holds a number that would be rounded.`,
      {
        expected: 'numbers up to 2^53 - 1',
        cause: error,
      },
    )
  }
  const code = resultCode(error)
  if (
    code === corrupt ||
    code === notADatabase ||
    error instanceof RangeError ||
    error instanceof SyntaxError
  ) {
    return new PolluxError(
      'POLLUX_FOLDER_INVALID',
      `${file} is damaged, or is not a log of the embedded broker.`,
      {
        found: `"${errorText(error)}"`,
        hint: 'Move the folder away to start with an empty log.',
        cause: error,
      },
    )
  }
  if (
    code === cannotOpen ||
    (hasCode(error) && /^(EACCES|EPERM|EROFS|ENOTDIR|EEXIST|ENOENT)$/.test(error.code))
  ) {
    return new PolluxError('POLLUX_FOLDER_INVALID', `${file} cannot be opened or made.`, {
      expected: 'a folder that this user may write to',
      found: `"${errorText(error)}"`,
      cause: error,
    })
  }
  return new PolluxError('POLLUX_BROKER_REFUSED', `The embedded broker cannot use ${file}.`, {
    found: `"${errorText(error)}"`,
    ...(code === full || (hasCode(error) && error.code === 'ENOSPC')
      ? { hint: 'Make room on the disk.' }
      : {}),
    cause: error,
  })
}

function resultCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined
  // The low byte is the kind; the rest says more than is needed here.
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined
}

function hasCode(error: unknown): error is { readonly code: string } {
  return (
    typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
  )
}
