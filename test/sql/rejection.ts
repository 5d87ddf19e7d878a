import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { type ErrorCode, PolluxError } from '../../src/errors.ts'

/** Expects that the promise rejects with this code, and gives the error. */
export async function rejection(promise: Promise<unknown>, code: ErrorCode): Promise<PolluxError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(PolluxError.is(error), `expected ${code}, found ${inspect(error)}`)
  assert.equal(error.code, code, error.message)
  return error
}
