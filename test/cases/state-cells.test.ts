import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StateCells } from '../../src/engine/state-cells.ts'

const key = Buffer.from('a')

test('a key has one cell for as long as one of its messages is in work', () => {
  const cells = new StateCells()
  const first = cells.take('a', key)
  assert.ok(first.isNew)
  const second = cells.take('a', Buffer.from('a'))
  assert.deepEqual([second.cell === first.cell, second.isNew], [true, false])
  cells.release(first.cell)
  assert.equal(cells.take('a', key).cell, first.cell)
})

test('a cell that nobody uses any more is read anew', () => {
  const cells = new StateCells()
  const first = cells.take('a', key)
  cells.release(first.cell)
  const second = cells.take('a', key)
  assert.deepEqual([second.cell === first.cell, second.isNew], [false, true])
})

test('an invalid cell is not handed out again, and giving it back does not touch its successor', () => {
  const cells = new StateCells()
  const first = cells.take('a', key)
  cells.invalidate(first.cell)
  const second = cells.take('a', key)
  assert.ok(second.isNew)
  cells.release(first.cell)
  assert.equal(cells.take('a', key).cell, second.cell)
})
