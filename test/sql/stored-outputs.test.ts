import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { PolluxError } from '../../src/errors.ts'
import type { OutgoingRecord } from '../../src/ports/broker.ts'
import { decodeOutputs, encodeOutputs } from '../../src/sql/stored-outputs.ts'

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array))
const records = fc.array(
  fc.record(
    {
      topic: fc.string({ unit: 'grapheme', maxLength: 20 }),
      partition: fc.option(fc.nat(2 ** 31 - 1), { nil: undefined }),
      key: fc.option(bytes),
      value: fc.option(bytes),
      headers: fc.array(
        fc.record(
          { name: fc.string({ unit: 'grapheme' }), value: fc.option(bytes) },
          { noNullPrototype: true },
        ),
        { maxLength: 4 },
      ),
      timestamp: fc.option(fc.double({ min: 0, max: 2 ** 53, noNaN: true }), { nil: undefined }),
    },
    { noNullPrototype: true },
  ),
  { maxLength: 8 },
)

it('outputs come back as they were encoded: null is not empty, none is not 0', () => {
  fc.assert(
    fc.property(records, (outputs: OutgoingRecord[]) => {
      assert.deepEqual(decodeOutputs(encodeOutputs(outputs), outputs.length), outputs)
    }),
  )
})

it('bytes that are cut off, or of another form, are an error, not fewer outputs', () => {
  const headers = [{ name: 'id', value: Buffer.from('abc') }]
  const [key, value] = [Buffer.from('k'), Buffer.from('v')]
  const output = { topic: 't', partition: 1, key, value, headers, timestamp: 5 }
  const whole = encodeOutputs([output, output])
  for (let length = 0; length < whole.length; length += 1) {
    assert.throws(() => decodeOutputs(whole.subarray(0, length), 2), isRefusal)
  }
  assert.throws(() => decodeOutputs(whole, 1), isRefusal)
  const newer = Buffer.from(whole)
  newer[0] = 2
  assert.throws(() => decodeOutputs(newer, 2), isRefusal)
})

function isRefusal(error: unknown): boolean {
  return PolluxError.is(error, 'POLLUX_STORE_FAILED')
}
