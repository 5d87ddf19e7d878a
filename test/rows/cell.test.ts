import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PolluxError } from '../../src/index.ts'
import { type Column, type Kind, keyText, roughKeyText, toCell } from '../../src/rows/cell.ts'
import { cleanJson, cleanText } from '../../src/rows/clean-text.ts'
import { sameAs } from '../../src/rows/same-as.ts'

const column = (kind: Kind, scale?: number): Column => ({
  name: 'c',
  kind,
  isRequired: false,
  scale,
  sameAs: sameAs(kind, kind),
})
const cell = (value: unknown, kind: Kind, scale?: number) =>
  toCell(value, column(kind, scale), 'replace')

function refuses(value: unknown, kind: Kind, scale?: number): void {
  assert.throws(
    () => cell(value, kind, scale),
    (error) => PolluxError.is(error, 'POLLUX_ROW_REFUSED'),
    `${String(value)} as ${kind}`,
  )
}

test('case 39: only what cannot be stored is replaced, and the whole can be refused instead', () => {
  assert.equal(cleanText('a\0b\ud83dc😀\\u0000', 'replace'), 'a\ufffdb\ufffdc😀\\u0000')
  assert.throws(() => cleanText('\0', 'refuse'), /without NUL/)
  assert.equal(cleanText('fine', 'refuse'), 'fine')
})

test('case 39: JSON that was cleaned is the JSON of the cleaned value', () => {
  const cleaned = (value: unknown): unknown => {
    if (typeof value === 'string') return cleanText(value, 'replace')
    if (Array.isArray(value)) return value.map(cleaned)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [cleanText(name, 'replace'), cleaned(one)]),
    )
  }
  const unit = fc.constantFrom('\0', '\ud83d', '\ude00', '\\', '\\u0000', '"', 'a', '😀')
  const value = fc.array(
    fc.oneof(fc.string({ unit }), fc.dictionary(fc.constant('k'), fc.string({ unit }))),
  )
  fc.assert(
    fc.property(value, (given) => {
      assert.deepEqual(JSON.parse(cleanJson(JSON.stringify(given), 'replace')), cleaned(given))
    }),
  )
})

test('case 55: numbers are written as what they are, or refused', () => {
  assert.equal(cell(9007199254740993n, 'integer'), '9007199254740993')
  assert.equal(cell('9007199254740993', 'integer'), '9007199254740993')
  assert.equal(cell('1.10', 'decimal', 2), '1.10')
  assert.equal(cell('1.100', 'decimal', 2), '1.100')
  assert.equal(cell(1e21, 'decimal', 2), '1e+21')
  assert.equal(cell(true, 'integer'), '1')
  refuses(2 ** 53, 'integer')
  refuses(1.5, 'integer')
  refuses('1.5', 'integer')
  refuses('1.101', 'decimal', 2)
  refuses('1e-3', 'decimal', 2)
  refuses(Number.NaN, 'decimal')
  refuses({}, 'text')
  refuses(new Date(Number.NaN), 'timestamp')
  refuses(1n, 'json')
})

test('bytes, JSON and lists have their own forms', () => {
  assert.deepEqual(cell(Buffer.from([0, 255]), 'bytes'), Buffer.from([0, 255]))
  assert.equal(cell(Buffer.from('{"a":1.10}'), 'json'), '{"a":1.10}')
  assert.equal(cell('text', 'json'), '"text"')
  assert.equal(cell(['a"b', null, ['\\']], 'array'), String.raw`{"a\"b",null,{"\\"}}`)
  refuses(Buffer.from([255]), 'text')
})

test('keys that are the same to the database have the same text', () => {
  const same = (kind: Kind, one: string, other: string): boolean =>
    keyText([one], [column(kind)]) === keyText([other], [column(kind)])
  assert.ok(same('integer', '+7', '007'))
  assert.ok(same('decimal', '1.50', '15e-1'))
  assert.ok(same('decimal', '-0', '0.00'))
  assert.ok(!same('decimal', '1.5', '-1.5'))
  assert.ok(!same('text', 'a', 'A'))
  const rough = (text: string): string => roughKeyText([text], [column('text')])
  assert.equal(rough('Élan '), rough('elan'))
})
