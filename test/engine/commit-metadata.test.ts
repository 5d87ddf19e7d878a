import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitMetadata, committerOf } from '../../src/engine/commit-metadata.ts'

test('a position tells who has committed it, and whether the ledger had work then', () => {
  assert.equal(committerOf({ committed: undefined }), 'nobody')
  assert.equal(committerOf({ committed: 7, metadata: commitMetadata(7, true) }), 'ledger')
  assert.equal(committerOf({ committed: 7, metadata: commitMetadata(7, false) }), 'pollux')
})

test('a position without the text, or with the text of another one, is somebody else’s', () => {
  for (const metadata of [
    undefined,
    '',
    'mine',
    'pollux/1',
    commitMetadata(70, true),
    'xpollux/1;at=7',
  ])
    assert.equal(committerOf({ committed: 7, metadata }), 'outside', metadata)
})

test('the text of a later version is known by what it shares with this one', () => {
  assert.equal(committerOf({ committed: 7, metadata: 'pollux/2;ledger;at=7;more=x' }), 'ledger')
})

test('the text is short and printable', () => {
  assert.match(commitMetadata(Number.MAX_SAFE_INTEGER, true), /^[ -~]{1,60}$/)
})
