import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { inputIdentity, markOfHeader, markOfText } from '../../src/engine/identity.ts'
import { PolluxError } from '../../src/index.ts'
import type { Header } from '../../src/message.ts'
import { partitionOf, rawOf, workOf } from './works.ts'

const work = workOf(partitionOf(), 0)
const headers = (...list: readonly (readonly [string, string | Buffer | null])[]): Header[] =>
  list.map(([name, value]) => ({ name, value: value === null ? null : Buffer.from(value) }))
const markOf = (...list: readonly (readonly [string, string | Buffer | null])[]) =>
  markOfHeader(rawOf(0, 0, { headers: headers(...list) }))

test('an event is known by its header id, else by CloudEvents source and id, else not at all', () => {
  assert.deepEqual(markOf(['id', 'e1'], ['ce_id', 'c1']), Buffer.from('e1'))
  assert.deepEqual(markOf(['id', 'old'], ['id', 'new']), Buffer.from('new'), 'the last one counts')
  assert.deepEqual(markOf(['ce_source', '/shop'], ['ce_id', 'c1']), Buffer.from('/shop\0c1'))
  for (const none of ['', null]) assert.equal(markOf(['id', none]), undefined)
  assert.equal(markOf(['ce_source', '/shop']), undefined)
  assert.notDeepEqual(
    markOf(['ce_source', 'a/b'], ['ce_id', 'c']),
    markOf(['ce_source', 'a'], ['ce_id', 'b/c']),
  )
})

test('different ids never become one, whatever their length and whatever is in them', () => {
  const ids = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1 }),
    fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 250, maxLength: 260 }),
    // Half an emoji, or several halves.
    fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', '\ufffd', '\0', 'a'), minLength: 1 }),
  )
  fc.assert(
    fc.property(ids, ids, (left, right) => {
      const marks = [markOfText(left, work), markOfText(right, work)]
      assert.ok(marks[0] !== undefined && marks[1] !== undefined)
      assert.equal(marks[0].equals(marks[1]), left === right)
      for (const mark of marks) assert.ok(mark !== undefined && mark.length <= 256)
    }),
  )
})

test('an id is the same mark whether a header or a function gives it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }), (id) => {
      assert.deepEqual(markOf(['id', id]), markOfText(id, work))
    }),
  )
})

test('what a function gives that is no id fails and names the record; none is none', () => {
  for (const none of [undefined, null, '']) assert.equal(markOfText(none, work), undefined)
  for (const wrong of [1, 1n, {}, Buffer.from('x'), Symbol('x')]) {
    assert.throws(
      () => markOfText(wrong, work),
      (error) =>
        PolluxError.is(error, 'POLLUX_HANDLER_FAILED') && error.message.includes('input/0/0'),
    )
  }
})

test('inputs of different events or records have different identities, in few plain characters', () => {
  const id = fc.oneof(fc.string({ minLength: 1 }), fc.string({ minLength: 40, maxLength: 400 }))
  fc.assert(
    fc.property(id, id, (left, right) => {
      const [one, other] = [left, right].map((text) =>
        inputIdentity(workOf(partitionOf(), 0, { headers: headers(['id', text]) }), true),
      )
      assert.equal(one === other, left === right)
      assert.match(one ?? '', /^input\/[!-~]{1,48}$/)
    }),
  )
  const places = [workOf(partitionOf(0), 0), workOf(partitionOf(0), 1), workOf(partitionOf(1), 0)]
  assert.equal(new Set(places.map((place) => inputIdentity(place, true))).size, 3)
})
