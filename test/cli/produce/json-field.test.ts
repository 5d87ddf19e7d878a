import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findField } from '../../../src/cli/produce/json-field.ts'

test('A field’s own text is found, every digit kept', () => {
  assert.equal(findField('{"id":9007199254740993}', 'id'), '9007199254740993')
  assert.equal(findField(' { "a" : [1,{"id":2}] , "id" : 1.10 } ', 'id'), '1.10')
  assert.equal(findField('{"id":-0,"b":"}"}', 'id'), '-0')
  assert.equal(findField('{"a":"\\"id\\":1","id":"x\\\\"}', 'id'), '"x\\\\"')
})

test('Names are compared as JSON reads them, and of a repeated one the last counts', () => {
  assert.equal(findField('{"\\u0069d":1}', 'id'), '1')
  assert.equal(findField('{"id":1,"id":2}', 'id'), '2')
})

test('What is not an object, or lacks the field, has none', () => {
  for (const text of ['[]', '5', '"id"', 'null', '{}', '{"x":{"id":1}}'])
    assert.equal(findField(text, 'id'), undefined)
})

test('For any object, whatever the spacing, each field is what JSON.parse reads', () => {
  const spacing = fc.constantFrom(undefined, 1, 2, '\t')
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), spacing, (object, space) => {
      const text = JSON.stringify(object, null, space)
      const parsed = JSON.parse(text) as Record<string, unknown>
      for (const name of Object.keys(parsed)) {
        assert.deepEqual(JSON.parse(findField(text, name) ?? ''), parsed[name])
      }
    }),
  )
})
