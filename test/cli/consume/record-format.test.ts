import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordJson } from '../../../src/cli/consume/record-format.ts'
import { tableRow } from '../../../src/cli/consume/record-table.ts'
import type { RawMessage } from '../../../src/message.ts'

const auto = { key: 'text', value: 'auto' } as const

function message(fields: Partial<RawMessage>): RawMessage {
  return {
    topic: 't',
    partition: 1,
    offset: 7,
    timestamp: 0,
    key: null,
    value: null,
    headers: [],
    ...fields,
  }
}

function parsed(fields: Partial<RawMessage>): Record<string, unknown> {
  return JSON.parse(recordJson(message(fields), auto)) as Record<string, unknown>
}

test('case 55: a value that is JSON is printed as its own text, no digit changed', () => {
  const value = '{"id":9007199254740993,"price":0.1234567890123456789,"total":1.10,"neg":-0}'
  const line = recordJson(message({ key: Buffer.from('k'), value: Buffer.from(value) }), auto)
  assert.equal(
    line,
    `{"topic":"t","partition":1,"offset":7,"timestamp":"1970-01-01T00:00:00.000Z","key":"k","value":${value},"headers":[]}`,
  )
})

test('JSON over several lines is printed in one', () => {
  const line = recordJson(message({ value: Buffer.from('{\r\n  "a": "x\\ny"\n}\n') }), auto)
  assert.ok(!line.includes('\n'))
  assert.deepEqual((JSON.parse(line) as { value: unknown }).value, { a: 'x\ny' })
})

test('case 53: null, empty, the text null and text that is not JSON are told apart', () => {
  const { value: tombstone, tombstone: mark } = parsed({ value: null })
  assert.deepEqual([tombstone, mark], [null, true])
  const jsonNull = parsed({ value: Buffer.from('null') })
  assert.deepEqual([jsonNull['value'], jsonNull['tombstone']], [null, undefined])
  const empty = parsed({ value: Buffer.alloc(0) })
  assert.deepEqual([empty['value'], empty['valueEncoding']], ['', 'text'])
  const plain = parsed({ value: Buffer.from('abc') })
  assert.deepEqual([plain['value'], plain['valueEncoding']], ['abc', 'text'])
  assert.equal(parsed({ value: Buffer.from('"abc"') })['valueEncoding'], undefined)
})

test('Binary keys, values and headers come as base64 and are marked', () => {
  const binary = Buffer.from([0xff, 0x00])
  const found = parsed({
    key: binary,
    value: binary,
    headers: [
      { name: 'id', value: Buffer.from('1') },
      { name: 'id', value: binary },
      { name: 'none', value: null },
    ],
  })
  assert.deepEqual([found['key'], found['keyEncoding']], ['/wA=', 'base64'])
  assert.deepEqual([found['value'], found['valueEncoding']], ['/wA=', 'base64'])
  assert.deepEqual(found['headers'], [
    { name: 'id', value: '1' },
    { name: 'id', value: '/wA=', valueEncoding: 'base64' },
    { name: 'none', value: null },
  ])
})

test('Times that no calendar has do not break the line', () => {
  assert.equal(parsed({ timestamp: -1 })['timestamp'], null)
  assert.equal(parsed({ timestamp: 1e17 })['timestamp'], 1e17)
})

test('A table row is cut to its width and cannot steer the terminal', () => {
  const hostile = message({
    key: Buffer.from('\u001b[2J'),
    value: Buffer.from(`a\nb\u009b31m${'x'.repeat(1_000_000)}`),
  })
  const row = tableRow(hostile, auto, 100)
  assert.equal(row.length, 100)
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(row, /[\u0000-\u001f\u007f-\u009f]/)
})
