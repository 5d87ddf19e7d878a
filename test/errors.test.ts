import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { PolluxError } from '../src/errors.ts'

test('an error shows only the details that it has', () => {
  const error = new PolluxError('POLLUX_STORE_FAILED', 'It failed.', { hint: 'Mend it.' })
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'hint', 'name'])
  assert.equal(error.expected, undefined)
  assert.equal(error.hint, 'Mend it.')
  assert.doesNotMatch(inspect(error), /undefined/)
})
