import { PolluxError } from '../errors.ts'

/** A value that the target cannot keep as it is. */
export function refused(expected: string, found: string, column?: string): PolluxError {
  const where = column === undefined ? '' : ` of column '${column}'`
  return new PolluxError('POLLUX_ROW_REFUSED', `A value${where} cannot be written as it is.`, {
    expected,
    found,
  })
}
