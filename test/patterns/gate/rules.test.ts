import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fact } from '../../../src/index.ts'
import type { Row } from '../../../src/patterns/gate/row.ts'
import { arrive, type Rules } from '../../../src/patterns/gate/rules.ts'
import { books, coverApproved, priceSet, textReady } from '../gate-books.ts'

const rules: Rules = {
  facts: { text: fact(textReady), cover: fact(coverApproved), price: fact(priceSet) },
  open: (key) => books.message({ key, value: 'opened' }),
  expire: (key, missing) => books.message({ key, value: `no ${missing.join(', ')}` }),
  late: 'ignore',
  timeout: 1_000,
}

function waiting(): Row {
  const ends = { openedAt: null, expiresAt: 1_000, expiredAt: null, hasChanged: false }
  return { key: 'a', came: [null, null, null], kept: [], ...ends }
}

/** What each arrival tells; each is the index of a fact and a time. */
async function tell(
  row: Row,
  arrivals: readonly (readonly [index: number, now: number])[],
  given: Rules = rules,
): Promise<unknown[][]> {
  const told: unknown[][] = []
  for (const [index, now] of arrivals) {
    const outputs = await arrive(given, row, { index, kept: undefined }, { now, count() {} })
    told.push(outputs.map(({ fields }) => fields.value))
  }
  return told
}

test('a gate opens with the first fact that completes it, however facts repeat', async () => {
  const index = fc.integer({ min: 0, max: 2 })
  await fc.assert(
    fc.asyncProperty(fc.array(index, { maxLength: 12 }), async (indexes) => {
      const told = await tell(
        waiting(),
        indexes.map((index) => [index, 5]),
      )
      const completing = indexes.findIndex((_, at) => new Set(indexes.slice(0, at + 1)).size === 3)
      assert.deepEqual(
        told,
        indexes.map((_, at) => (at === completing ? ['opened'] : [])),
      )
    }),
  )
})

test('a fact right before the deadline opens, one at it is late: the gate has expired, whoever has looked', async () => {
  assert.deepEqual(
    await tell(waiting(), [
      [0, 1],
      [1, 2],
      [2, 999],
    ]),
    [[], [], ['opened']],
  )
  const row = waiting()
  const arrivals = [
    [0, 1],
    [1, 2],
    [2, 1_000],
    [2, 1_001],
  ] as const
  assert.deepEqual(await tell(row, arrivals), [[], [], ['no price'], []])
  assert.deepEqual([row.openedAt, row.expiredAt, row.came[2]], [null, 1_000, null])
})

test('a fact that reopens a gate after its deadline ends it first, and waits as long again', async () => {
  const row = waiting()
  const reopening: Rules = { ...rules, late: 'reopen' }
  const arrivals = [
    [0, 1],
    [2, 1_500],
    [0, 1_600],
    [1, 2_499],
  ] as const
  assert.deepEqual(await tell(row, arrivals, reopening), [[], ['no cover, price'], [], ['opened']])
})
