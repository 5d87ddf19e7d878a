import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StateCells } from '../../src/engine/state-cells.ts'

test('a key has one cell, also when its last change is committed while the next message asks for it', async () => {
  let loads = 0
  const cells = new StateCells(async (keys) => {
    loads += 1
    return keys.map(() => ({ value: null, version: 1 }))
  })
  const key = Buffer.from('a')
  const first = await cells.take(key)
  const asking = cells.take(key)
  cells.release(first)
  const second = await asking
  assert.equal(await cells.take(key), second)
  assert.equal(loads, 1)
})

test('a read that fails leaves no cell behind', async () => {
  let isAway = true
  const cells = new StateCells(async (keys) => {
    if (isAway) throw new Error('away')
    return keys.map(() => ({ value: Buffer.from('x'), version: 1 }))
  })
  const key = Buffer.from('a')
  await assert.rejects(cells.take(key), /away/)
  isAway = false
  assert.equal((await cells.take(key)).value?.toString(), 'x')
})
